/* Calls of torch's own functions, the errors that they raise, and calls left to the wrapper. */

/* Pass a TypeError or RuntimeError to the site; NULL with the error for every other one. */
static PyObject *
refuse(Gate *gate, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        return NULL;
    }
    PyObject *result = NULL, *kwargs = NULL, *positional;
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *error = PyErr_GetRaisedException();
#else
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
#endif
    positional = tuple_of(args, nargs);
    kwargs = PyDict_New();
    Py_ssize_t count = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    int failed = positional == NULL || kwargs == NULL;
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        failed = PyDict_SetItem(kwargs, PyTuple_GET_ITEM(keywords, i), args[nargs + i]) < 0;
    }
    if (!failed) {
        PyObject *handed[] = {error, positional, kwargs};
        result = PyObject_Vectorcall(gate->refused, handed, 3, NULL);
    }
    Py_XDECREF(error);
    Py_XDECREF(positional);
    Py_XDECREF(kwargs);
    return result;
}

/* Call `swift`; a function in C of torch with the arguments as it takes them. */
static PyObject *
call_swift(Gate *gate, PyObject *const *args, Py_ssize_t count)
{
    int skipped = gate->is_method;
    if (gate->function == NULL || (skipped && dict_of(gate, args[0]) == NULL)) {
        return PyObject_Vectorcall(gate->swift, args, count, NULL);
    }
    PyObject *passed = tuple_of(args + skipped, count - skipped);
    if (passed == NULL) {
        return NULL;
    }
    PyObject *receiver = skipped ? args[0] : PyCFunction_GET_SELF(gate->swift);
    PyObject *result = gate->function(receiver, passed, NULL);
    Py_DECREF(passed);
    return result;
}

/* Pass a call on, as it came. */
static PyObject *
to_wrapper(Gate *gate, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    return PyObject_Vectorcall(gate->wrapper, args, nargsf, keywords);
}
