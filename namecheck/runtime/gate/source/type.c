/* The type of gates, and the module. */

static vectorcallfunc const CALLS[] = {call_exact, call_general, call_namer, call_indexer};

/* Find the function in C behind `swift`, if it takes a tuple and keywords, as torch's do. */
static void
find_function(Gate *gate)
{
    PyMethodDef *method = NULL;
    if (PyCFunction_CheckExact(gate->swift)) {
        method = ((PyCFunctionObject *)gate->swift)->m_ml;
    }
    else if (Py_IS_TYPE(gate->swift, &PyMethodDescr_Type) &&
             PyType_IsSubtype((PyTypeObject *)gate->tensor, PyDescr_TYPE(gate->swift))) {
        method = ((PyMethodDescrObject *)gate->swift)->d_method;
        gate->is_method = 1;
    }
    if (method != NULL && (method->ml_flags & ~METH_STATIC) == (METH_VARARGS | METH_KEYWORDS)) {
        gate->function = (PyCFunctionWithKeywords)(void (*)(void))method->ml_meth;
    }
}

/* Find the function in C behind `swift`, if it is the subscription of a class. */
static void
find_subscript(Gate *gate)
{
    PyWrapperDescrObject *descriptor = (PyWrapperDescrObject *)gate->swift;
    int place = offsetof(PyHeapTypeObject, as_mapping.mp_subscript);
    if (Py_IS_TYPE(descriptor, &PyWrapperDescr_Type) && descriptor->d_base->offset == place &&
        PyType_IsSubtype((PyTypeObject *)gate->tensor, PyDescr_TYPE(descriptor))) {
        gate->subscript = (binaryfunc)descriptor->d_wrapped;
    }
}

static PyObject *
gate_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"style",     "wrapper", "original",     "swift",       "run",
                               "refused",   "tensor",  "parameter",    "missing",     "memos",
                               "memo",      "parameters", "kinds",     "strict",      "reflected",
                               "bound",     "names_result", "takes_names", NULL};
    PyObject *wrapper, *original, *swift, *run, *refused, *tensor, *parameter, *missing, *memos,
        *memo, *parameters;
    const char *kinds;
    Py_ssize_t positional;
    int style, strict, reflected, bound, names_result, takes_names;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "$iOOOOOO!O!OO!O!O!s#ppppp", keywords, &style, &wrapper, &original,
            &swift, &run, &refused, &PyType_Type, &tensor, &PyType_Type, &parameter, &missing,
            &PyTuple_Type, &memos, &PyDict_Type, &memo, &PyTuple_Type, &parameters, &kinds,
            &positional, &strict, &reflected, &bound, &names_result, &takes_names)) {
        return NULL;
    }
    Py_ssize_t total = PyTuple_GET_SIZE(parameters);
    int fits = style >= EXACT && style <= INDEXER && positional <= total && total <= MOST &&
               PyTuple_GET_SIZE(memos) >= LONGEST - 1 && (!strict || positional <= 2);
    for (Py_ssize_t i = 0; fits && i < PyTuple_GET_SIZE(memos); i++) {
        fits = PyDict_CheckExact(PyTuple_GET_ITEM(memos, i));
    }
    for (Py_ssize_t i = 0; fits && i < total; i++) {
        fits = PyUnicode_CheckExact(PyTuple_GET_ITEM(parameters, i));
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "these arguments do not describe a gate");
        return NULL;
    }
    Gate *gate = (Gate *)type->tp_alloc(type, 0);
    if (gate == NULL) {
        return NULL;
    }
    gate->vectorcall = CALLS[style];
    gate->wrapper = Py_NewRef(wrapper);
    gate->original = Py_NewRef(original);
    gate->swift = Py_NewRef(swift);
    gate->run = Py_NewRef(run);
    gate->refused = Py_NewRef(refused);
    gate->tensor = Py_NewRef(tensor);
    gate->parameter = Py_NewRef(parameter);
    gate->missing = Py_NewRef(missing);
    gate->memos = Py_NewRef(memos);
    gate->memo = Py_NewRef(memo);
    gate->parameters = Py_NewRef(parameters);
    gate->positional = positional;
    for (Py_ssize_t i = 0; i < positional && i < LONGEST; i++) {
        gate->kinds[i] = kinds[i];
    }
    gate->strict = (char)strict;
    gate->reflected = (char)reflected;
    gate->bound = (char)bound;
    gate->names_result = (char)names_result;
    gate->takes_names = (char)takes_names;
    if (style == NAMER) {
        find_subscript(gate);
    }
    else {
        find_function(gate);
    }
    return (PyObject *)gate;
}

/* There is no tp_clear, as a tuple has none: each circle through a gate has a function or a dict in
   it, which break it. So the fields of a gate are never NULL. */
static int
gate_traverse(PyObject *self, visitproc visit, void *arg)
{
    Gate *gate = (Gate *)self;
    Py_VISIT(gate->wrapper);
    Py_VISIT(gate->original);
    Py_VISIT(gate->swift);
    Py_VISIT(gate->run);
    Py_VISIT(gate->refused);
    Py_VISIT(gate->tensor);
    Py_VISIT(gate->parameter);
    Py_VISIT(gate->missing);
    Py_VISIT(gate->memos);
    Py_VISIT(gate->memo);
    Py_VISIT(gate->parameters);
    for (Recent *recent = gate->recent; recent < gate->recent + RECENT; recent++) {
        Py_VISIT(recent->entry);
        for (Py_ssize_t i = 0; i < recent->length; i++) {
            Py_VISIT(recent->key[i]);
        }
    }
    return 0;
}

static void
gate_dealloc(PyObject *self)
{
    Gate *gate = (Gate *)self;
    PyObject_GC_UnTrack(self);
    if (gate->weak_references != NULL) {
        PyObject_ClearWeakRefs(self);
    }
    Py_XDECREF(gate->wrapper);
    Py_XDECREF(gate->original);
    Py_XDECREF(gate->swift);
    Py_XDECREF(gate->run);
    Py_XDECREF(gate->refused);
    Py_XDECREF(gate->tensor);
    Py_XDECREF(gate->parameter);
    Py_XDECREF(gate->missing);
    Py_XDECREF(gate->memos);
    Py_XDECREF(gate->memo);
    Py_XDECREF(gate->parameters);
    for (Recent *recent = gate->recent; recent < gate->recent + RECENT; recent++) {
        Py_XDECREF(recent->entry);
        for (Py_ssize_t i = 0; i < recent->length; i++) {
            Py_DECREF(recent->key[i]);
        }
    }
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
gate_bind(PyObject *self, PyObject *receiver, PyObject *Py_UNUSED(owner))
{
    if (receiver == NULL || receiver == Py_None) {
        return Py_NewRef(self);
    }
    return PyMethod_New(self, receiver);
}

/* Pickled and copied by its name, as a function is. */
static PyObject *
gate_reduce(PyObject *self, PyObject *Py_UNUSED(protocol))
{
    return PyObject_GetAttr(((Gate *)self)->wrapper, s_qualname);
}

static PyMethodDef METHODS[] = {
    {"__reduce_ex__", gate_reduce, METH_O, NULL},
    {"__reduce__", gate_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Which attributes are a gate's own; all others, even the class, are those of its wrapper. */
static int
is_own(PyObject *name)
{
    static const char *const OWN[] = {"__call__", "__get__", "__reduce__", "__reduce_ex__",
                                       "__eq__",   "__ne__",  "__hash__"};
    for (size_t i = 0; PyUnicode_Check(name) && i < sizeof OWN / sizeof *OWN; i++) {
        if (PyUnicode_CompareWithASCIIString(name, OWN[i]) == 0) {
            return 1;
        }
    }
    return 0;
}

static PyObject *
gate_read(PyObject *self, PyObject *name)
{
    return is_own(name) ? PyObject_GenericGetAttr(self, name)
                        : PyObject_GetAttr(((Gate *)self)->wrapper, name);
}

static int
gate_write(PyObject *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(((Gate *)self)->wrapper, name, value);
}

static PyObject *
gate_repr(PyObject *self)
{
    PyObject *name = PyObject_GetAttr(((Gate *)self)->wrapper, s_qualname);
    if (name == NULL) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("<function %U at %p>", name, self);
    Py_DECREF(name);
    return text;
}

/* A gate equals its original: a table of functions that was made before the patches has it. */
static PyObject *
gate_compare(PyObject *self, PyObject *other, int operation)
{
    if (operation != Py_EQ && operation != Py_NE) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    int equal = self == other || ((Gate *)self)->original == other;
    return PyBool_FromLong(equal == (operation == Py_EQ));
}

static Py_hash_t
gate_hash(PyObject *self)
{
    return PyObject_Hash(((Gate *)self)->original);
}

static PyTypeObject GateType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "namecheck_gate.Gate",
    .tp_basicsize = sizeof(Gate),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = gate_new,
    .tp_dealloc = gate_dealloc,
    .tp_traverse = gate_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Gate, vectorcall),
    .tp_weaklistoffset = offsetof(Gate, weak_references),
    .tp_descr_get = gate_bind,
    .tp_getattro = gate_read,
    .tp_setattro = gate_write,
    .tp_repr = gate_repr,
    .tp_richcompare = gate_compare,
    .tp_hash = gate_hash,
    .tp_methods = METHODS,
};

/* The same for a builtin function, which binds no receiver. */
static PyTypeObject FunctionType;

static PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "namecheck_gate",
    .m_doc = "The callables in front of namecheck's wrappers.",
    .m_size = -1, /* one for the process: subinterpreters cannot import it */
};

PyMODINIT_FUNC
PyInit_namecheck_gate(void)
{
    s_attribute = PyUnicode_InternFromString("_names");
    s_ndim = PyUnicode_InternFromString("ndim");
    s_names = PyUnicode_InternFromString("names");
    s_qualname = PyUnicode_InternFromString("__qualname__");
    s_handler = PyUnicode_InternFromString("__torch_function__");
    if (s_attribute == NULL || s_ndim == NULL || s_names == NULL || s_qualname == NULL ||
        s_handler == NULL) {
        return NULL;
    }
    FunctionType = GateType;
    FunctionType.tp_name = "namecheck_gate.FunctionGate";
    FunctionType.tp_flags &= ~Py_TPFLAGS_METHOD_DESCRIPTOR;
    FunctionType.tp_descr_get = NULL;
    if (PyType_Ready(&GateType) < 0 || PyType_Ready(&FunctionType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&MODULE);
    if (module != NULL && (PyModule_AddObjectRef(module, "Gate", (PyObject *)&GateType) < 0 ||
                           PyModule_AddObjectRef(module, "FunctionGate",
                                                 (PyObject *)&FunctionType) < 0 ||
                           PyModule_AddStringConstant(module, "SOURCE", SOURCE) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
