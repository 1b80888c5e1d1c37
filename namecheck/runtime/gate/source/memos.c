/* Look-ups in the memos of a site, and the keys of these look-ups. */

/* 1 and a new reference, 0 if there is no entry or the key has no hash, -1 for another error: the
   class of what a file holds in place of names may raise any exception when it is hashed. */
static int
look_up(PyObject *memo, PyObject *key, PyObject **entry)
{
    *entry = PyDict_GetItemWithError(memo, key);
    if (*entry != NULL) {
        Py_INCREF(*entry);
        return 1;
    }
    if (!PyErr_Occurred()) {
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* A number of another kind than int with its type, as `typed` has it: 1, True and 1.0 have one hash.
   There is one such key for each bool, so that recent look-ups know it. */
static PyObject *
typed(PyObject *number)
{
    static PyObject *of_bools[2];
    if (!PyBool_Check(number)) {
        return PyTuple_Pack(2, (PyObject *)Py_TYPE(number), number);
    }
    PyObject **place = &of_bools[number == Py_True];
    if (*place == NULL) {
        *place = PyTuple_Pack(2, (PyObject *)&PyBool_Type, number);
    }
    return Py_XNewRef(*place);
}

/* An argument as part of a key; a new reference. A list is a tuple that begins with the type, since
   lists have no hash (`_without_lists`); long ones are data, and in no key. */
static PyObject *
as_key(PyObject *value)
{
    if (PyBool_Check(value) || PyFloat_CheckExact(value) || PyComplex_CheckExact(value)) {
        return typed(value);
    }
    if (!PyList_CheckExact(value) || PyList_GET_SIZE(value) > LONGEST_LIST) {
        return Py_NewRef(value);
    }
    Py_ssize_t size = PyList_GET_SIZE(value);
    PyObject *key = PyTuple_New(size + 1);
    if (key != NULL) {
        PyTuple_SET_ITEM(key, 0, Py_NewRef((PyObject *)&PyList_Type));
        for (Py_ssize_t i = 0; i < size; i++) {
            PyTuple_SET_ITEM(key, i + 1, Py_NewRef(PyList_GET_ITEM(value, i)));
        }
    }
    return key;
}

/* The place of a recent look-up of a key. */
static Recent *
recent_of(Gate *gate, PyObject *const *key, Py_ssize_t length)
{
    uintptr_t mixed = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        mixed = mixed * 3 + ((uintptr_t)key[i] >> 4);
    }
    return &gate->recent[(mixed ^ mixed >> 6) % RECENT];
}

/* Whether a recent look-up was of this key, by a call of so many arguments. */
static int
is_of(const Recent *recent, Py_ssize_t count, PyObject *const *key, Py_ssize_t length)
{
    return recent->count == count && recent->length == length &&
           memcmp(recent->key, key, length * sizeof *key) == 0;
}

/* Replace a recent look-up; what it held is released last, since that may run any code. */
static void
remember(Recent *recent, Py_ssize_t count, PyObject **key, Py_ssize_t length, PyObject *entry)
{
    Recent old = *recent;
    recent->count = count;
    recent->length = length;
    for (Py_ssize_t i = 0; i < length; i++) {
        recent->key[i] = Py_NewRef(key[i]);
    }
    recent->entry = Py_NewRef(entry);
    for (Py_ssize_t i = 0; i < old.length; i++) {
        Py_DECREF(old.key[i]);
    }
    Py_XDECREF(old.entry);
}

static PyObject *
tuple_of(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(values[i]));
    }
    return tuple;
}
