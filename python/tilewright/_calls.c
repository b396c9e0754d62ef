/* _calls.c - products of NumPy's plain arrays without ctypes: finds the recipe that an earlier call of the same layouts
   and options left (_host.py), and carries it out. Whatever it does not know goes to Python's code, which alone
   decides anything.

   One file by Python's stable ABI of 3.11, the first that has buffers. It needs no header of NumPy's, and gets the
   library's functions by their addresses: docs/decisions/0014-python-by-ctypes.md. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tilewright.h>

/* Recipe's fields. */
static const char fields[] = "context at_problem at_batch offsets swapped made copy_a copy_b direct adds cast";
enum { CONTEXT, AT_PROBLEM, AT_BATCH, OFFSETS, SWAPPED, MADE, COPY_A, COPY_B, DIRECT, ADDS, CAST, FIELDS };

enum { A, B, C, OUT, ARRAYS }; /* C is what is added */
enum { MOST_DIMENSIONS = 8, MOST_KEY = 64 + ARRAYS * (2 + 16 * MOST_DIMENSIONS), FEW_ITEMS = 32 };

/* What elements are called by the buffer protocol, in the machine's order of bytes. */
static const struct {
    char format[3];
    uint8_t alignment;
} elements[] = {{"d", 8}, {"f", 4}, {"Zd", 8}, {"Zf", 4}, {"e", 2}, {"b", 1}, {"B", 1}, {"h", 2},
                {"H", 2}, {"i", 4}, {"I", 4},  {"l", 8},  {"L", 8}, {"q", 8}, {"Q", 8}, {"?", 1}};

typedef tw_status gemm(tw_context *, const tw_problem *, const void *, const void *, void *);
typedef tw_status gemm_batched(tw_context *, const tw_problem *, const tw_batch *, const void *, const void *, void *);
_Static_assert(_Generic(&tw_gemm, gemm * : 1, default : 0) &&
                   _Generic(&tw_gemm_batched, gemm_batched * : 1, default : 0),
               "as in tilewright.h");

/* What begin() is given. */
enum { NDARRAY, EMPTY, ARRAY, COPYTO, SAME_KIND, UNSAFE, RECIPES, LONG_WAY, DONE, DEBUGGING, TYPES, OBJECTS };
typedef struct {
    PyObject *object[OBJECTS];
    gemm *gemm;
    gemm_batched *gemm_batched;
} kept;

/* A call: its arrays, NULL where none is given, and the key of its recipe. */
typedef struct {
    PyObject *array[ARRAYS], *copy[B + 1];
    Py_buffer view[ARRAYS];
    bool held[ARRAYS];
    size_t key_bytes;
    unsigned char key[MOST_KEY];
} call;

static void put(call *x, const void *from, size_t bytes)
{
    if (bytes > 0) memcpy(x->key + x->key_bytes, from, bytes); /* a shape of no dimensions is NULL */
    x->key_bytes += bytes;
}

/* Borrows the memory of an array and puts its layout into the key; false where the library might not read it there. */
static bool hold(call *x, int which, PyObject *array)
{
    Py_buffer *view = &x->view[which];
    if (PyObject_GetBuffer(array, view, PyBUF_STRIDES | PyBUF_FORMAT)) {
        PyErr_Clear();
        return false;
    }
    x->array[which] = array, x->held[which] = true;
    uint8_t type = 0;
    while (type < sizeof elements / sizeof *elements && strcmp(view->format, elements[type].format)) type++;
    if (type == sizeof elements / sizeof *elements || view->ndim > MOST_DIMENSIONS) return false;
    const uint8_t head[] = {type, (uint8_t)view->ndim};
    put(x, head, sizeof head);
    put(x, view->shape, (size_t)view->ndim * sizeof *view->shape);
    unsigned char *strides = x->key + x->key_bytes;
    put(x, view->strides, (size_t)view->ndim * sizeof *view->strides);
    for (int i = 0; i < view->ndim; i++) /* that of one element means nothing */
        if (view->shape[i] == 1) memset(strides + (size_t)i * sizeof *view->strides, 0, sizeof *view->strides);
    return (uintptr_t)view->buf % elements[type].alignment == 0; /* where NumPy also says so in the format */
}

/* Whether two arrays of at least one element may share memory, as np.may_share_memory() has it. */
static bool may_share(const Py_buffer *x, const Py_buffer *y)
{
    uintptr_t low[2], high[2];
    for (int i = 0; i < 2; i++) {
        const Py_buffer *view = i ? y : x;
        low[i] = (uintptr_t)view->buf, high[i] = low[i] + (size_t)view->itemsize;
        for (int j = 0; j < view->ndim; j++) {
            Py_ssize_t reach = (view->shape[j] - 1) * view->strides[j];
            *(reach < 0 ? &low[i] : &high[i]) += (uintptr_t)reach;
        }
    }
    return low[0] < high[1] && low[1] < high[0];
}

/* Replaces an operand by the copy that a recipe asks for. */
static bool copied(const kept *k, PyObject *how, call *x, int which)
{
    if (how == Py_None) return true;
    PyObject *arguments = PyTuple_Pack(1, x->array[which]);
    if (!arguments) return false;
    x->copy[which] = PyObject_Call(k->object[ARRAY], arguments, how);
    Py_DECREF(arguments);
    if (!x->copy[which]) return false;
    PyBuffer_Release(&x->view[which]);
    x->held[which] = PyObject_GetBuffer(x->copy[which], &x->view[which], PyBUF_STRIDES) == 0;
    return x->held[which];
}

static bool copyto(const kept *k, PyObject *to, PyObject *from, int casting)
{
    PyObject *arguments = PyTuple_Pack(2, to, from);
    PyObject *none = arguments ? PyObject_Call(k->object[COPYTO], arguments, k->object[casting]) : NULL;
    Py_XDECREF(arguments);
    Py_XDECREF(none);
    return none;
}

static void *address(PyObject *recipe, int field)
{
    PyObject *value = PyTuple_GetItem(recipe, field);
    return value == Py_None ? NULL : PyLong_AsVoidPtr(value);
}

/* The product of operands in place; false with an exception. */
static bool multiplied(const kept *k, PyObject *recipe, const call *x, char *to)
{
    tw_context *context = address(recipe, CONTEXT);
    const tw_problem *problem = address(recipe, AT_PROBLEM);
    const tw_batch *batch = address(recipe, AT_BATCH);
    bool swapped = PyTuple_GetItem(recipe, SWAPPED) == Py_True;
    PyObject *offsets = PyTuple_GetItem(recipe, OFFSETS);
    char *first = x->view[swapped ? B : A].buf, *second = x->view[swapped ? A : B].buf;
    void *few[3 * FEW_ITEMS], **lists = few;
    size_t items = 0;
    if (offsets != Py_None) {
        const char *text = PyBytes_AsString(offsets);
        if (!text || !batch) return false;
        items = (size_t)batch->count;
        if (items > FEW_ITEMS && !(lists = PyMem_Malloc(3 * items * sizeof *lists))) {
            PyErr_NoMemory();
            return false;
        }
        for (size_t i = 0; i < 3 * items; i++) {
            int64_t offset;
            memcpy(&offset, text + i * sizeof offset, sizeof offset);
            lists[i] = (i < items ? first : i < 2 * items ? second : to) + offset;
        }
    }
    tw_status status;
    Py_BEGIN_ALLOW_THREADS;
    if (items)
        status = k->gemm_batched(context, problem, batch, lists, lists + items, lists + 2 * items);
    else if (batch)
        status = k->gemm_batched(context, problem, batch, first, second, to);
    else
        status = k->gemm(context, problem, first, second, to);
    Py_END_ALLOW_THREADS;
    if (lists != few) PyMem_Free(lists);
    if (status == TW_OK) return true;
    Py_XDECREF(PyObject_CallFunction(k->object[DONE], "i", (int)status));
    return false;
}

/* Copies what is added to where the product comes, unless it is there. */
static bool added(const kept *k, PyObject *recipe, const call *x, PyObject *to)
{
    return PyTuple_GetItem(recipe, ADDS) != Py_True || x->array[C] == to || copyto(k, to, x->array[C], SAME_KIND);
}

static PyObject *finished(const kept *k, PyObject *computed, int dimensions, PyObject *out)
{
    if (out) return copyto(k, out, computed, UNSAFE) ? Py_NewRef(out) : NULL;
    if (dimensions > 0) return Py_NewRef(computed);
    PyObject *none = PyTuple_New(0), *scalar = none ? PyObject_GetItem(computed, none) : NULL;
    Py_XDECREF(none);
    return scalar;
}

/* A call by its recipe: the result; NULL with an exception, or without where Python's code must see it. */
static PyObject *made_by(const kept *k, PyObject *recipe, call *x)
{
    PyObject *out = x->array[OUT];
    if (out ? x->view[OUT].readonly || may_share(&x->view[OUT], &x->view[A]) || may_share(&x->view[OUT], &x->view[B])
            : PyTuple_GetItem(recipe, CAST) != Py_None)
        return NULL;
    if (!copied(k, PyTuple_GetItem(recipe, COPY_A), x, A) || !copied(k, PyTuple_GetItem(recipe, COPY_B), x, B))
        return NULL;
    if (PyTuple_GetItem(recipe, DIRECT) == Py_True)
        return added(k, recipe, x, out) && multiplied(k, recipe, x, x->view[OUT].buf) ? Py_NewRef(out) : NULL;
    PyObject *to = PyObject_Call(k->object[EMPTY], PyTuple_GetItem(recipe, MADE), NULL), *result = NULL;
    Py_buffer made;
    if (to && added(k, recipe, x, to) && PyObject_GetBuffer(to, &made, PyBUF_STRIDED) == 0) {
        bool right = multiplied(k, recipe, x, made.buf);
        PyBuffer_Release(&made);
        if (right) result = finished(k, to, made.ndim, out);
    }
    Py_XDECREF(to);
    return result;
}

/* A scalar of Python's own types, as number() of _plain.py reads it: its parts. */
static bool number(PyObject *x, double parts[2])
{
    parts[1] = 0;
    if (PyComplex_CheckExact(x)) {
        parts[0] = PyComplex_RealAsDouble(x);
        double imaginary = PyComplex_ImagAsDouble(x);
        if (imaginary != 0) parts[1] = imaginary;
        return true;
    }
    if (!PyFloat_CheckExact(x) && !PyLong_CheckExact(x)) return false;
    parts[0] = PyFloat_CheckExact(x) ? PyFloat_AsDouble(x) : PyLong_AsDouble(x);
    if (parts[0] != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear(); /* an int beyond the largest float64 */
    return false;
}

/* Begins a call with its options in the key; false where one is not of the plainest kind. */
enum { ALPHA = 1, BETA = 2, CONJUGATE_A = 4, CONJUGATE_B = 8, ADDED = 16, IN_PLACE = 32, INTO = 64, INVARIANT = 128 };
static bool options(const kept *k, call *x, uint8_t flags, PyObject *alpha, PyObject *beta, PyObject *dtype)
{
    for (int i = 0; i < ARRAYS; i++) x->array[i] = NULL, x->held[i] = false;
    x->copy[A] = x->copy[B] = NULL;
    double parts[2];
    uint8_t head[2] = {flags, 0};
    x->key_bytes = sizeof head;
    if (alpha) {
        if (!number(alpha, parts)) return false;
        if (parts[0] != 1 || parts[1] != 0) head[0] |= ALPHA, put(x, parts, sizeof parts);
    }
    if (beta && beta != Py_None) {
        if (!number(beta, parts)) return false;
        head[0] |= BETA, put(x, parts, sizeof parts);
    }
    if (dtype && dtype != Py_None) {
        Py_ssize_t types = PyTuple_Size(k->object[TYPES]), i = 0;
        while (i < types && PyTuple_GetItem(k->object[TYPES], i) != dtype) i++;
        if (i == types) return false;
        head[1] = (uint8_t)(1 + i);
    }
    memcpy(x->key, head, sizeof head);
    return true;
}

/* Borrows the arrays of a call; false where one is not known well enough. */
static bool arrays(const kept *k, call *x, PyObject *a, PyObject *b, PyObject *c, PyObject *out)
{
    PyTypeObject *plain = (PyTypeObject *)k->object[NDARRAY];
    if (Py_TYPE(a) != plain || Py_TYPE(b) != plain || !hold(x, A, a) || !hold(x, B, b)) return false;
    if (out != Py_None) {
        if (Py_TYPE(out) != plain || !hold(x, OUT, out)) return false;
        x->key[0] |= INTO;
    }
    if (c == Py_None) return true;
    if (c == out) {
        x->key[0] |= IN_PLACE, x->array[C] = c;
        return true;
    }
    x->key[0] |= ADDED;
    return Py_TYPE(c) == plain && hold(x, C, c);
}

/* Ends a call that is known well enough by its recipe in a table, unless somebody wants to be told what is chosen. As
   made_by(), with the key, NULL without one. */
static PyObject *looked_up(const kept *k, PyObject *recipes, call *x, bool known, PyObject **key)
{
    PyObject *result = NULL;
    *key = known ? PyBytes_FromStringAndSize((const char *)x->key, (Py_ssize_t)x->key_bytes) : NULL;
    PyObject *recipe = *key ? PyDict_GetItemWithError(recipes, *key) : NULL;
    if (recipe && PyTuple_Check(recipe) && PyTuple_Size(recipe) >= FIELDS) {
        Py_INCREF(recipe); /* the table may be emptied while other threads run */
        PyObject *debugging = PyObject_CallNoArgs(k->object[DEBUGGING]);
        if (debugging == Py_False) result = made_by(k, recipe, x);
        Py_XDECREF(debugging);
        Py_DECREF(recipe);
    }
    for (int i = 0; i < ARRAYS; i++)
        if (x->held[i]) PyBuffer_Release(&x->view[i]);
    for (int i = A; i <= B; i++) Py_XDECREF(x->copy[i]);
    return result;
}

static kept *begun(PyObject *module, Py_ssize_t count, Py_ssize_t expected)
{
    kept *k = PyModule_GetState(module);
    if (k && k->object[LONG_WAY] && count == expected) return k;
    PyErr_Format(PyExc_TypeError, "expected %zd arguments, and begin() before", expected);
    return NULL;
}

/* planned(recipes, a, b, c, out) -> the product, or a key for recipes, or None where these cannot have one. */
static PyObject *planned(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    const kept *k = begun(module, count, 5);
    call x;
    if (!k) return NULL;
    bool known = options(k, &x, 0, NULL, NULL, NULL) && arrays(k, &x, given[1], given[2], given[3], given[4]);
    PyObject *key, *result = looked_up(k, given[0], &x, known, &key);
    if (!result && !PyErr_Occurred()) return key ? key : Py_NewRef(Py_None);
    Py_XDECREF(key);
    return result;
}

/* matmul(a, b, c, alpha, beta, out, dtype, engine, stream, conjugate_a, conjugate_b, multiply_as, invariant)
   -> the product. */
static PyObject *matmul(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
    const kept *k = begun(module, count, 13);
    call x;
    if (!k) return NULL;
    PyObject *engine = given[7];
    uint8_t flags = (given[9] == Py_True ? CONJUGATE_A : 0) | (given[10] == Py_True ? CONJUGATE_B : 0) |
                    (given[12] == Py_True ? INVARIANT : 0);
    bool known = options(k, &x, flags, given[3], given[4], given[6]) &&
                 (engine == Py_None ||
                  (PyUnicode_CheckExact(engine) && PyUnicode_CompareWithASCIIString(engine, "cpu") == 0)) &&
                 given[8] == Py_None && PyBool_Check(given[9]) && PyBool_Check(given[10]) && given[11] == Py_None &&
                 PyBool_Check(given[12]) && arrays(k, &x, given[0], given[1], given[2], given[5]);
    PyObject *key, *result = looked_up(k, k->object[RECIPES], &x, known, &key);
    if (!result && !PyErr_Occurred()) {
        PyObject *all = PyTuple_New(14);
        for (int i = 0; all && i < 14; i++) PyTuple_SetItem(all, i, Py_NewRef(i < 13 ? given[i] : key ? key : Py_None));
        result = all ? PyObject_Call(k->object[LONG_WAY], all, NULL) : NULL;
        Py_XDECREF(all);
    }
    Py_XDECREF(key);
    return result;
}

/* begin(fields, gemm, gemm_batched, objects): Recipe's fields, the library's functions by address, all that is kept. */
static PyObject *begin(PyObject *module, PyObject *arguments)
{
    const char *theirs;
    unsigned long long gemm_at, gemm_batched_at;
    PyObject *objects;
    kept *k = PyModule_GetState(module);
    if (!PyArg_ParseTuple(arguments, "sKKO!", &theirs, &gemm_at, &gemm_batched_at, &PyTuple_Type, &objects))
        return NULL;
    if (strcmp(theirs, fields) != 0 || PyTuple_Size(objects) != OBJECTS) {
        PyErr_SetString(PyExc_ImportError, "_calls.abi3.so was built for another version of the package");
        return NULL;
    }
    k->gemm = (gemm *)(uintptr_t)gemm_at, k->gemm_batched = (gemm_batched *)(uintptr_t)gemm_batched_at;
    for (int i = 0; i < OBJECTS; i++) {
        PyObject *before = k->object[i];
        k->object[i] = PyTuple_GetItem(objects, i);
        Py_INCREF(k->object[i]);
        Py_XDECREF(before);
    }
    Py_RETURN_NONE;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    kept *k = PyModule_GetState(module);
    for (int i = 0; k && i < OBJECTS; i++) Py_VISIT(k->object[i]);
    return 0;
}

static int clear(PyObject *module)
{
    kept *k = PyModule_GetState(module);
    for (int i = 0; k && i < OBJECTS; i++) Py_CLEAR(k->object[i]);
    return 0;
}

static void end(void *module) { clear(module); }

static PyMethodDef methods[] = {{"begin", begin, METH_VARARGS, NULL},
                                {"matmul", (PyCFunction)(void (*)(void))matmul, METH_FASTCALL, NULL},
                                {"planned", (PyCFunction)(void (*)(void))planned, METH_FASTCALL, NULL},
                                {0}};
static PyModuleDef_Slot slots[] = {{0}};
static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_calls", NULL, sizeof(kept), methods, slots, traverse, clear, end};

PyMODINIT_FUNC PyInit__calls(void) { return PyModuleDef_Init(&definition); }
