/* The names of tensors: read, and set on results. */

/* Whether a value is a tensor of a class of torch itself. */
static inline int
is_plain(Gate *gate, PyObject *value)
{
    PyObject *type = (PyObject *)Py_TYPE(value);
    return type == gate->tensor || type == gate->parameter;
}

/* The place of the dict of a tensor, NULL where it cannot be seen.

   Most tensors have no attributes, and no dict. Up to Python 3.12 this can be seen without a
   look-up; and a dict that is made here for one entry takes half the time and the memory of the
   dict with shared keys that setting an attribute makes. */
static inline PyObject **
dict_of(Gate *gate, PyObject *value)
{
#if PY_VERSION_HEX < 0x030D0000
    if (is_plain(gate, value)) {
        return _PyObject_GetDictPtr(value);
    }
#endif
    return NULL;
}

/* 1 and a new reference if the value is a tensor with the attribute, 0 if it is none, -1 for an
   error. */
static int
read_attribute(Gate *gate, PyObject *value, PyObject **names)
{
    *names = NULL;
    if (!PyObject_TypeCheck(value, (PyTypeObject *)gate->tensor)) {
        return 0;
    }
    *names = PyObject_GetAttr(value, s_attribute);
    if (*names != NULL) {
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* The same; a tensor without attributes is read without a look-up. */
static inline int
read_names(Gate *gate, PyObject *value, PyObject **names)
{
    PyObject **place = dict_of(gate, value);
    if (place == NULL) {
        return read_attribute(gate, value, names);
    }
    if (*place == NULL) {
        *names = Py_NewRef(Py_None);
        return 1;
    }
    *names = PyDict_GetItemWithError(*place, s_attribute);
    if (*names == NULL && PyErr_Occurred()) {
        return -1;
    }
    *names = Py_NewRef(*names == NULL ? Py_None : *names);
    return 1;
}

/* Whether a value is a number, or None. */
static inline int
is_number(PyObject *value)
{
    return value == Py_None || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
           PyBool_Check(value) || PyComplex_CheckExact(value);
}

/* Whether a value is, or contains, a tensor with names, or an object that overrides torch; -1 for an
   error. */
static int
concerns_site(Gate *gate, PyObject *value)
{
    PyObject *names;
    int status = read_names(gate, value, &names);
    if (status != 0) {
        int named = names != Py_None;
        Py_XDECREF(names);
        return status < 0 ? -1 : named;
    }
    if (is_number(value) || PyUnicode_CheckExact(value)) {
        return 0;
    }
    if (!PyTuple_Check(value) && !PyList_Check(value)) {
        return PyObject_HasAttr((PyObject *)Py_TYPE(value), s_handler);
    }
    if (Py_EnterRecursiveCall(" in the search for names")) {
        return -1;
    }
    status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(value); i++) {
        PyObject *part = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
        status = concerns_site(gate, part);
        Py_DECREF(part);
    }
    Py_LeaveRecursiveCall();
    return status;
}

/* 0 after an error that the wrapper will raise in its own way, -1 after any other one. */
static int
left_to_wrapper(void)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* 1 if a tensor has as many dims as names, 0 if the wrapper has to make the call, -1 for an error.
 */
static int
has_rank_of(PyObject *tensor, PyObject *names)
{
    PyObject *rank = PyObject_GetAttr(tensor, s_ndim);
    if (rank == NULL) {
        return left_to_wrapper();
    }
    Py_ssize_t dims = PyLong_AsSsize_t(rank);
    Py_DECREF(rank);
    Py_ssize_t length = dims == -1 ? -1 : PyObject_Size(names);
    if (length < 0) {
        return PyErr_Occurred() ? left_to_wrapper() : 0;
    }
    return dims == length;
}

/* The result with its names; steals the result. Without names it needs no attribute, unless it is an
   argument that has names. */
static PyObject *
named(Gate *gate, PyObject *result, PyObject *names)
{
    if (result == NULL) {
        return NULL;
    }
    if (!gate->names_result) {
        return result;
    }
    if (names == Py_None) {
        PyObject *present = NULL;
        int status = read_names(gate, result, &present);
        int unnamed = present == Py_None;
        Py_XDECREF(present);
        if (status > 0 && unnamed) {
            return result;
        }
        if (status < 0) {
            Py_DECREF(result);
            return NULL;
        }
    }
    PyObject **place = dict_of(gate, result);
    if (place != NULL && *place == NULL) {
        PyObject *attributes = PyDict_New();
        if (attributes != NULL && PyDict_SetItem(attributes, s_attribute, names) == 0) {
            *place = attributes;
            return result;
        }
        Py_XDECREF(attributes);
    }
    else if (PyObject_SetAttr(result, s_attribute, names) == 0) {
        return result;
    }
    Py_DECREF(result);
    return NULL;
}
