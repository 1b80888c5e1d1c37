/* A callable in front of a wrapper of `namecheck.runtime.patching.wrappers`.

   A gate makes the calls that need no decision: those without names, and those whose answer is in a
   memo of the wrapper's site. It makes them as the wrapper would. It passes every other call to the
   wrapper, as it came: only Python code infers names, learns, and raises.

   Everywhere but in `type()`, a gate is the function that it stands for: attributes, pickling,
   copying, binding and `isinstance` are those of the wrapper. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#ifdef Py_GIL_DISABLED
#error "a gate relies on the global interpreter lock"
#endif

#define LONGEST 8 /* parameters, the tensor included, that a call by position may have */
#define MOST 32   /* parameters in all */
#define LONGEST_LIST 32

typedef enum { EXACT, GENERAL, NAMER, INDEXER } Style;

/* The last look-ups, by the identity of the parts of the key. */
#define RECENT 4  /* a power of two */
#define PARTS 4   /* keys with more parts are looked up each time */

typedef struct {
    Py_ssize_t count, length; /* of the arguments, and of the key */
    PyObject *key[PARTS];
    PyObject *entry;
} Recent;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *weak_references;
    PyObject *wrapper;    /* the function that the gate stands for */
    PyObject *original;   /* runs a call without names */
    PyObject *swift;      /* the same for tensors alone, called faster */
    PyObject *run;        /* runs a call with names */
    PyObject *refused;    /* (error, args, kwargs): handles a TypeError or RuntimeError of torch */
    PyObject *tensor;     /* the class torch.Tensor */
    PyObject *parameter;  /* the class torch.nn.Parameter */
    PyObject *missing;    /* stands for the names of an argument that is no tensor */
    PyObject *parameters; /* the names of the parameters, those by keyword only last */
    PyObject *memos;      /* a dict for each number of arguments besides the tensor */
    PyObject *memo;       /* the dict of calls in any form */
    Py_ssize_t positional;
    char kinds[LONGEST]; /* of each positional one: t(ensor), e(ither), v(alue), n(umber) */
    PyCFunctionWithKeywords function; /* what `swift` calls, NULL if that is no function in C */
    char is_method;                   /* whether `function` is of a method */
    char strict, reflected, bound, names_result, takes_names;
    Recent recent[RECENT];
} Gate;

static PyObject *s_attribute, *s_ndim, *s_names, *s_qualname;

/* Names */

/* The place of the dict of a tensor, NULL where it cannot be seen.

   Most tensors have no attributes, and no dict. Up to Python 3.12 this can be seen without a
   look-up; and a dict that is made here for one entry takes half the time and the memory of the
   dict with shared keys that setting an attribute makes. */
static inline PyObject **
dict_of(Gate *gate, PyObject *value)
{
#if PY_VERSION_HEX < 0x030D0000
    if ((PyObject *)Py_TYPE(value) == gate->tensor || (PyObject *)Py_TYPE(value) == gate->parameter) {
        return _PyObject_GetDictPtr(value);
    }
#endif
    return NULL;
}

/* 1 and a new reference if the value has the attribute, 0 if it has not, -1 for another error. */
static int
read_attribute(PyObject *value, PyObject **names)
{
    if (value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
        PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) || PyTuple_CheckExact(value) ||
        PyList_CheckExact(value) || PySlice_Check(value)) {
        *names = NULL;
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
        return read_attribute(value, names);
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

/* Whether a value is, or contains, a tensor with names; -1 for an error. */
static int
carries_names(Gate *gate, PyObject *value)
{
    PyObject *names;
    int status = read_names(gate, value, &names);
    if (status != 0) {
        int named = names != Py_None;
        Py_XDECREF(names);
        return status < 0 ? -1 : named;
    }
    if (!PyTuple_CheckExact(value) && !PyList_CheckExact(value)) {
        return 0;
    }
    if (Py_EnterRecursiveCall(" in the search for names")) {
        return -1;
    }
    status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < PySequence_Fast_GET_SIZE(value); i++) {
        PyObject *part = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
        status = carries_names(gate, part);
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

/* The result with its names; steals the result. */
static PyObject *
named(Gate *gate, PyObject *result, PyObject *names)
{
    if (result == NULL) {
        return NULL;
    }
    if (!gate->names_result) {
        return result;
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

/* Memos */

/* 1 and a new reference, 0 if there is no entry or the key has no hash, -1 for another error. */
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
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_KeyError)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* An argument as part of a key; a new reference. A list is a tuple that begins with the type, since
   lists have no hash (`_without_lists`); long ones are data, and in no key. */
static PyObject *
as_key(PyObject *value)
{
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

/* Errors of torch */

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

/* torch */

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

/* A call in any form (`_dispatcher`, `make_namer`) */

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
to_wrapper(Gate *gate, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    return PyObject_Vectorcall(gate->wrapper, args, nargsf, keywords);
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
    status = key == NULL ? left_to_wrapper() : general_entry(gate, key, args, nargs, keywords, &entry);
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

/* A call by position (`wrapper_source`) */

/* Order the arguments of a call by keyword: as the wrapper passes them on (`Shape.gather`).

   `ordered` gets the values, `*leading` is the number of those that are positional. Returns the
   names of the others (a tuple), None if the call has to go to the wrapper, NULL for an error. */
static PyObject *
gather(Gate *gate, PyObject *const *args, Py_ssize_t nargs, PyObject *keywords,
       PyObject **ordered, Py_ssize_t *leading)
{
    PyObject *slots[MOST] = {NULL};
    Py_ssize_t total = PyTuple_GET_SIZE(gate->parameters);
    if (gate->strict || nargs > gate->positional) {
        Py_RETURN_NONE;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        slots[i] = args[i];
    }
    Py_ssize_t later = 0;
    for (Py_ssize_t i = 0; keywords != NULL && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *name = PyTuple_GET_ITEM(keywords, i);
        Py_ssize_t place = gate->bound;
        while (place < total && PyTuple_GET_ITEM(gate->parameters, place) != name) {
            place++;
        }
        if (place == total || slots[place] != NULL) {
            Py_RETURN_NONE; /* unknown, given twice, or a text that is not interned */
        }
        slots[place] = args[nargs + i];
    }
    Py_ssize_t count = 0;
    while (count < gate->positional && slots[count] != NULL) {
        ordered[count] = slots[count];
        count++;
    }
    *leading = count;
    for (Py_ssize_t place = count; place < total; place++) {
        later += slots[place] != NULL;
    }
    PyObject *names = PyTuple_New(later);
    for (Py_ssize_t place = count, i = 0; names != NULL && place < total; place++) {
        if (slots[place] != NULL) {
            ordered[count + i] = slots[place];
            PyTuple_SET_ITEM(names, i++, Py_NewRef(PyTuple_GET_ITEM(gate->parameters, place)));
        }
    }
    return names;
}

/* The call of the function of torch for tensors; a reflected one has its receiver on the right. */
static PyObject *
run_binary(Gate *gate, PyObject *const *args, PyObject *others_names)
{
    if (others_names == gate->missing) {
        return PyObject_Vectorcall(gate->original, args, 2, NULL);
    }
    PyObject *turned[] = {args[gate->reflected != 0], args[gate->reflected == 0]};
    return call_swift(gate, turned, 2);
}

/* Run a call as an entry of the memo says, which has the arguments that replace the values. */
static PyObject *
run_entry(Gate *gate, PyObject *const *args, Py_ssize_t count, Py_ssize_t values, PyObject *entry,
          PyObject *others_names)
{
    PyObject *names = values ? PyTuple_GET_ITEM(entry, values) : entry;
    PyObject *result;
    if (gate->strict && count == 2) {
        result = run_binary(gate, args, others_names);
        if (result == Py_NotImplemented) {
            return result;
        }
    }
    else if (values == 0) {
        result = call_swift(gate, args, count);
    }
    else {
        PyObject *passed[LONGEST];
        for (Py_ssize_t i = 0, value = 0; i < count; i++) {
            passed[i] = gate->kinds[i] == 'v' ? PyTuple_GET_ITEM(entry, value++) : args[i];
        }
        result = call_swift(gate, passed, count);
    }
    return named(gate, result, names);
}

/* The entry for a key, which may be `lasting` or made anew for each call: 1 and a new reference, 0 if there is none, -1 for an error. */
static int
find_entry(Gate *gate, Py_ssize_t count, PyObject **key, Py_ssize_t length, int lasting,
           PyObject **entry)
{
    uintptr_t mixed = 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        mixed = mixed * 3 + ((uintptr_t)key[i] >> 4);
    }
    Recent *recent = &gate->recent[(mixed ^ mixed >> 6) % RECENT];
    if (recent->count == count && recent->length == length &&
        memcmp(recent->key, key, length * sizeof *key) == 0) {
        *entry = Py_NewRef(recent->entry);
        return 1;
    }
    PyObject *level = Py_NewRef(PyTuple_GET_ITEM(gate->memos, count - 1));
    int status = 1;
    for (Py_ssize_t i = 0; status > 0 && i < length; i++) {
        PyObject *next = NULL;
        status = PyDict_CheckExact(level) ? look_up(level, key[i], &next) : 0;
        Py_SETREF(level, next);
    }
    *entry = level;
    if (status > 0 && lasting && length <= PARTS) {
        remember(recent, count, key, length, level);
    }
    return status;
}

/* A call with names: the result, or NULL without an error if the memo has no entry for it. */
static PyObject *
exact_named(Gate *gate, PyObject *const *args, Py_ssize_t count, PyObject **names)
{
    PyObject *key[2 * LONGEST], *result = NULL, *level = NULL, *rank = NULL;
    Py_ssize_t values = 0, length = 0;
    int may_name = 0, lasting = 1, status = 1;
    for (Py_ssize_t i = 1; i < count; i++) {
        if (gate->kinds[i] == 'v') {
            key[values] = as_key(args[i]);
            if (key[values] == NULL) {
                goto done;
            }
            lasting &= key[values++] == args[i];
            may_name |= PyUnicode_CheckExact(args[i]) || !lasting;
        }
    }
    length = values;
    /* Names that are not as many as the dims must not be used to look up an index. */
    if (may_name && names[0] != Py_None && has_rank_of(args[0], names[0]) <= 0) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (names[i] == NULL) {
            continue;
        }
        if (names[i] == Py_None) { /* of an unnamed tensor only the rank is a key */
            rank = PyObject_GetAttr(args[i], s_ndim);
            if (rank == NULL) {
                left_to_wrapper();
                goto done;
            }
            Py_SETREF(names[i], rank);
        }
        key[length++] = names[i];
    }
    status = find_entry(gate, count, key, length, lasting, &level);
    if (status > 0 &&
        (values == 0 || (PyTuple_CheckExact(level) && PyTuple_GET_SIZE(level) == values + 1))) {
        result = run_entry(gate, args, count, values, level, count > 1 ? names[1] : NULL);
    }
done:
    Py_XDECREF(level);
    for (Py_ssize_t i = 0; i < values; i++) {
        Py_DECREF(key[i]);
    }
    return result;
}

/* The result; NULL without an error if the wrapper has to make the call. */
static PyObject *
exact(Gate *gate, PyObject *const *args, Py_ssize_t count)
{
    PyObject *names[LONGEST] = {NULL}, *result = NULL;
    int any = 0, status = read_names(gate, args[0], &names[0]);
    if (status <= 0) {
        return NULL;
    }
    any = names[0] != Py_None;
    for (Py_ssize_t i = 1; status >= 0 && i < count; i++) {
        if (gate->kinds[i] == 't' || gate->kinds[i] == 'e') {
            status = read_names(gate, args[i], &names[i]);
            if (status == 0) {
                names[i] = Py_NewRef(gate->missing);
            }
            any |= status > 0 && names[i] != Py_None;
        }
    }
    if (status < 0) {
        goto done;
    }
    if (any) {
        result = exact_named(gate, args, count, names);
    }
    else if (gate->strict && count == 2) {
        result = run_binary(gate, args, names[1]);
    }
    else {
        result = call_swift(gate, args, count);
        if (result == NULL) {
            result = refuse(gate, args, count, NULL);
        }
    }
done:
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(names[i]);
    }
    return result;
}

static PyObject *
call_exact(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Gate *gate = (Gate *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *ordered[MOST], *result = NULL;
    if (keywords == NULL && count >= 1 && count <= gate->positional && count <= LONGEST - 1 &&
        !(gate->strict && count < gate->positional)) {
        result = exact(gate, args, count);
    }
    else if (keywords != NULL) {
        Py_ssize_t leading = 0;
        PyObject *names = gather(gate, args, count, keywords, ordered, &leading);
        if (names != NULL && names != Py_None && leading >= 1) {
            int by_position = PyTuple_GET_SIZE(names) == 0 && leading <= LONGEST - 1;
            result = by_position ? exact(gate, ordered, leading)
                                 : general(gate, ordered, leading, names);
        }
        Py_XDECREF(names);
    }
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return to_wrapper(gate, args, nargsf, keywords);
}

/* Indexing (`_indexer`) */

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
        return carries_names(gate, args[1]) ? NULL : PyObject_Vectorcall(gate->original, args, 2, NULL);
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

/* The type */

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

static PyObject *
gate_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"style", "wrapper", "original", "swift", "run", "refused", "tensor",
                               "parameter", "missing", "memos", "memo", "parameters", "kinds", "strict",
                               "reflected", "bound", "names_result", "takes_names", NULL};
    PyObject *wrapper, *original, *swift, *run, *refused, *tensor, *parameter, *missing, *memos, *memo,
        *parameters;
    const char *kinds;
    Py_ssize_t positional;
    int style, strict, reflected, bound, names_result, takes_names;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "$iOOOOOO!O!OO!O!O!s#ppppp", keywords, &style, &wrapper, &original, &swift,
            &run, &refused, &PyType_Type, &tensor, &PyType_Type, &parameter, &missing, &PyTuple_Type, &memos, &PyDict_Type,
            &memo, &PyTuple_Type, &parameters, &kinds, &positional, &strict, &reflected, &bound,
            &names_result, &takes_names)) {
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
    find_function(gate);
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
    static const char *const OWN[] = {"__call__", "__get__", "__reduce__", "__reduce_ex__"};
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
    .tp_methods = METHODS,
};

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
    if (s_attribute == NULL || s_ndim == NULL || s_names == NULL || s_qualname == NULL ||
        PyType_Ready(&GateType) < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&MODULE);
    if (module != NULL && (PyModule_AddObjectRef(module, "Gate", (PyObject *)&GateType) < 0 ||
                           PyModule_AddStringConstant(module, "SOURCE", SOURCE) < 0)) {
        Py_CLEAR(module);
    }
    return module;
}
