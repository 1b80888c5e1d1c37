/* Indexing (`_indexer`). */

/* The type of a simple part of an index, NULL for every other part. */
static PyObject *
simple(PyObject *part)
{
    int fits = part == Py_None || part == Py_Ellipsis || PyLong_CheckExact(part) ||
               PySlice_Check(part);
    return fits ? (PyObject *)Py_TYPE(part) : NULL;
}

/* The types of the parts of an index; None if it has other parts than simple ones. */
static PyObject *
kind_of(PyObject *index)
{
    PyObject *kind = simple(index);
    if (kind != NULL) {
        return Py_NewRef(kind);
    }
    if (!PyTuple_CheckExact(index)) {
        Py_RETURN_NONE;
    }
    PyObject *kinds = PyTuple_New(PyTuple_GET_SIZE(index));
    for (Py_ssize_t i = 0; kinds != NULL && i < PyTuple_GET_SIZE(index); i++) {
        kind = simple(PyTuple_GET_ITEM(index, i));
        if (kind == NULL) {
            Py_DECREF(kinds);
            Py_RETURN_NONE;
        }
        PyTuple_SET_ITEM(kinds, i, Py_NewRef(kind));
    }
    return kinds;
}

/* The result; NULL without an error if the wrapper has to make the call. */
static PyObject *
indexed(Gate *gate, PyObject *const *args)
{
    PyObject *names, *kind = NULL, *level = NULL, *entry = NULL, *result = NULL;
    if (read_names(gate, args[0], &names) <= 0) {
        return NULL;
    }
    if (names == Py_None) {
        Py_DECREF(names);
        return concerns_site(gate, args[1]) ? NULL
                                            : PyObject_Vectorcall(gate->original, args, 2, NULL);
    }
    kind = kind_of(args[1]);
    if (kind != NULL && kind != Py_None &&
        look_up(PyTuple_GET_ITEM(gate->memos, 1), names, &level) > 0 && PyDict_CheckExact(level) &&
        look_up(level, kind, &entry) > 0) {
        result = named(gate, PyObject_Vectorcall(gate->original, args, 2, NULL), entry);
    }
    Py_DECREF(names);
    Py_XDECREF(kind);
    Py_XDECREF(level);
    Py_XDECREF(entry);
    return result;
}

static PyObject *
call_indexer(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Gate *gate = (Gate *)self;
    if (keywords == NULL && PyVectorcall_NARGS(nargsf) == 2) {
        PyObject *result = indexed(gate, args);
        if (result != NULL || PyErr_Occurred()) {
            return result;
        }
    }
    return to_wrapper(gate, args, nargsf, keywords);
}
