/* A call in any form (`_dispatcher`, `make_namer`). */

/* Run a call that a memo has; `changed` is None, or the arguments after the first. */
static PyObject *
run_changed(Gate *gate, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
            PyObject *changed)
{
    if (changed == Py_None) {
        return PyObject_Vectorcall(gate->run, args, nargs, keywords);
    }
    if (!PyTuple_CheckExact(changed) || PyTuple_GET_SIZE(changed) != 2 ||
        !PyTuple_CheckExact(PyTuple_GET_ITEM(changed, 0)) ||
        !PyDict_CheckExact(PyTuple_GET_ITEM(changed, 1))) {
        PyErr_SetString(PyExc_SystemError, "the memo of a namecheck wrapper is damaged");
        return NULL;
    }
    PyObject *rest = PyTuple_GET_ITEM(changed, 0);
    PyObject *positional = PyTuple_New(PyTuple_GET_SIZE(rest) + 1);
    if (positional == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(positional, 0, Py_NewRef(args[0]));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) {
        PyTuple_SET_ITEM(positional, i + 1, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
    }
    PyObject *result = PyObject_Call(gate->run, positional, PyTuple_GET_ITEM(changed, 1));
    Py_DECREF(positional);
    return result;
}

/* The parts of a call by whose identity it may be recent; returns their number, 0 if they are too
   many, or if one is a list, which may have changed. */
static Py_ssize_t
parts_of(PyObject *first, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
         PyObject **parts)
{
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords), length = 0;
    if (nargs + count + (count != 0) > PARTS) {
        return 0;
    }
    parts[length++] = first;
    for (Py_ssize_t i = 1; i < nargs + count; i++) {
        if (PyList_CheckExact(args[i])) {
            return 0;
        }
        parts[length++] = args[i];
    }
    if (count != 0) {
        parts[length++] = keywords;
    }
    return length;
}

/* The entry of the memo for a call: 1 and a new reference, 0 if there is none, -1 for an error. */
static int
searched_entry(Gate *gate, PyObject *first, PyObject *const *args, Py_ssize_t nargs,
              PyObject *keywords, PyObject **entry)
{
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *rest = PyTuple_New(nargs - 1), *items = PyTuple_New(count);
    int status = rest == NULL || items == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; status == 0 && i < nargs - 1 + count; i++) {
        PyObject *part = as_key(args[i + 1]);
        if (part != NULL && i >= nargs - 1) {
            PyObject *keyword = PyTuple_GET_ITEM(keywords, i - (nargs - 1));
            Py_SETREF(part, PyTuple_Pack(2, keyword, part));
        }
        if (part == NULL) {
            status = -1;
        }
        else if (i < nargs - 1) {
            PyTuple_SET_ITEM(rest, i, part);
        }
        else {
            PyTuple_SET_ITEM(items, i - (nargs - 1), part);
        }
    }
    PyObject *key = status < 0 ? NULL : PyTuple_Pack(3, first, rest, items);
    status = key == NULL ? -1 : look_up(gate->memo, key, entry);
    Py_XDECREF(rest);
    Py_XDECREF(items);
    Py_XDECREF(key);
    if (status > 0 && (!PyTuple_CheckExact(*entry) || PyTuple_GET_SIZE(*entry) != 2)) {
        Py_CLEAR(*entry);
        status = 0;
    }
    return status;
}

/* The same, of a recent call by the identity of its parts. */
static int
general_entry(Gate *gate, PyObject *first, PyObject *const *args, Py_ssize_t nargs,
              PyObject *keywords, PyObject **entry)
{
    PyObject *parts[PARTS];
    Py_ssize_t length = parts_of(first, args, nargs, keywords, parts);
    if (length == 0) {
        return searched_entry(gate, first, args, nargs, keywords, entry);
    }
    Recent *recent = recent_of(gate, parts, length);
    if (is_of(recent, nargs, parts, length)) {
        *entry = Py_NewRef(recent->entry);
        return 1;
    }
    int status = searched_entry(gate, first, args, nargs, keywords, entry);
    if (status > 0) {
        remember(recent, nargs, parts, length, *entry);
    }
    return status;
}

/* An alias of a tensor; NULL without an error if its layout has none, and `run` does more. */
static PyObject *
alias_of(Gate *gate, PyObject *tensor)
{
    PyObject *alias = gate->subscript(tensor, Py_Ellipsis);
    if (alias == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        PyErr_Clear();
    }
    return alias;
}

/* The result; NULL without an error if the wrapper has to make the call. */
static PyObject *
general(Gate *gate, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords)
{
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *names = NULL;
    int status = nargs > 0 ? read_names(gate, args[0], &names) : 0;
    if (status < 0) {
        return NULL;
    }
    if (status > 0 && names != Py_None) {
        PyObject *entry = NULL, *result = NULL;
        status = general_entry(gate, names, args, nargs, keywords, &entry);
        if (status > 0) {
            status = has_rank_of(args[0], names);
        }
        if (status > 0) {
            result = run_changed(gate, args, nargs, keywords, PyTuple_GET_ITEM(entry, 0));
            result = named(gate, result, PyTuple_GET_ITEM(entry, 1));
        }
        Py_XDECREF(entry);
        Py_DECREF(names);
        return result;
    }
    Py_XDECREF(names);
    for (Py_ssize_t i = 0; i < nargs + count; i++) {
        if (concerns_site(gate, args[i])) {
            return NULL;
        }
    }
    PyObject *result = PyObject_Vectorcall(gate->original, args, nargs, keywords);
    return result != NULL ? result : refuse(gate, args, nargs, keywords);
}

static PyObject *
call_general(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Gate *gate = (Gate *)self;
    if (gate->takes_names && keywords != NULL) {
        int named_result = PySequence_Contains(keywords, s_names);
        if (named_result != 0) {
            return named_result < 0 ? NULL : to_wrapper(gate, args, nargsf, keywords);
        }
    }
    PyObject *result = general(gate, args, PyVectorcall_NARGS(nargsf), keywords);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return to_wrapper(gate, args, nargsf, keywords);
}

static PyObject *
call_namer(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Gate *gate = (Gate *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs == 0 || !PyObject_TypeCheck(args[0], (PyTypeObject *)gate->tensor)) {
        return to_wrapper(gate, args, nargsf, keywords);
    }
    PyObject *names, *result = NULL, *entry = NULL;
    int status = read_names(gate, args[0], &names);
    if (status <= 0) {
        return status < 0 ? NULL : to_wrapper(gate, args, nargsf, keywords);
    }
    PyObject *key = names == Py_None ? PyObject_GetAttr(args[0], s_ndim) : Py_NewRef(names);
    status = key == NULL ? left_to_wrapper()
                         : general_entry(gate, key, args, nargs, keywords, &entry);
    if (status > 0 && names != Py_None) {
        status = has_rank_of(args[0], names);
    }
    Py_XDECREF(key);
    Py_DECREF(names);
    if (status > 0 && gate->subscript != NULL && is_plain(gate, args[0])) {
        result = alias_of(gate, args[0]);
        status = result != NULL || PyErr_Occurred();
    }
    else if (status > 0) {
        result = run_changed(gate, args, nargs, keywords, PyTuple_GET_ITEM(entry, 0));
    }
    result = named(gate, result, entry == NULL ? Py_None : PyTuple_GET_ITEM(entry, 1));
    Py_XDECREF(entry);
    return status == 0 ? to_wrapper(gate, args, nargsf, keywords) : result;
}
