/* A callable in front of a wrapper of `namecheck.runtime.patching.wrappers`.

   A gate makes the calls that need no decision: those without names, and those whose answer is in a
   memo of the wrapper's site. It makes them as the wrapper would. It passes every other call to the
   wrapper, as it came: only Python code infers names, learns, and raises.

   Everywhere but in `type()`, a gate is the function that it stands for: attributes, pickling,
   copying, binding and `isinstance` are those of the wrapper.

   The files of this folder are one unit for the compiler, in the order that `cache.PARTS` has. */

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
#define PARTS 5   /* keys with more parts are looked up each time */

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
    PyObject *run;        /* runs a call that the memo of calls in any form has */
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
    binaryfunc subscript; /* makes an alias of a tensor by an Ellipsis; NULL if `run` does more */
    char strict, reflected, bound, names_result, takes_names;
    Recent recent[RECENT];
} Gate;

static PyObject *s_attribute, *s_ndim, *s_names, *s_qualname, *s_handler;
