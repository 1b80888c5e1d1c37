/* A call by position (`wrapper_source`). */

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

/* The entry for a key, which may be `lasting` or made anew for each call: 1 and a new reference,
   0 if there is none, -1 for an error. */
static int
find_entry(Gate *gate, Py_ssize_t count, PyObject **key, Py_ssize_t length, int lasting,
           PyObject **entry)
{
    Recent *recent = recent_of(gate, key, length);
    if (is_of(recent, count, key, length)) {
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
            lasting &= key[values] == args[i] || PyBool_Check(args[i]);
            values++;
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
        /* The memo has calls with numbers: another object may override torch's functions. */
        if (names[i] == gate->missing && !is_number(args[i])) {
            goto done;
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
    int any = 0, others = 0, status = read_names(gate, args[0], &names[0]);
    if (status <= 0) {
        return NULL;
    }
    any = names[0] != Py_None;
    for (Py_ssize_t i = 1; status >= 0 && i < count; i++) {
        if (gate->kinds[i] == 't' || gate->kinds[i] == 'e') {
            status = read_names(gate, args[i], &names[i]);
            if (status == 0) {
                names[i] = Py_NewRef(gate->missing);
                others |= !is_number(args[i]);
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
    else if (!others) { /* another object may override torch's functions */
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
