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

/* The entry of the memo for a call: 1 and a new reference, 0 if there is none, -1 for an error. */
static int
general_entry(Gate *gate, PyObject *first, PyObject *const *args, Py_ssize_t nargs,
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
        if (carries_names(gate, args[i])) {
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
    if (status > 0) {
        result = PyObject_Vectorcall(gate->run, args, nargs, keywords);
        result = named(gate, result, PyTuple_GET_ITEM(entry, 1));
    }
    Py_XDECREF(entry);
    return status == 0 ? to_wrapper(gate, args, nargsf, keywords) : result;
}
