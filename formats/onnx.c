/* SPDX-License-Identifier: MIT
 *
 * onnx.c: builds the messages of an ONNX file and streams them to it with protobuf-c. Everything that a model
 * owns is in one list of blocks, so that it is freed in one place and half-made messages need no care. */
#include "onnx.h"

#include <stdlib.h>
#include <string.h>

#include "atomic_file.h"
#include "grow.h"
#include "onnx.pb-c.h"

typedef Leat__Onnx__NodeProto node_proto;
typedef Leat__Onnx__TensorProto tensor_proto;
typedef Leat__Onnx__ValueInfoProto value_proto;
typedef Leat__Onnx__AttributeProto attribute_proto;
typedef Leat__Onnx__TensorShapeProto__Dimension dimension_proto;

typedef struct block {
    struct block *next;
    max_align_t bytes[];
} block;

struct leat_onnx {
    block *blocks;
    Leat__Onnx__ModelProto model;
    Leat__Onnx__GraphProto graph;
};

/* --- memory ----------------------------------------------------------------------------------------*/

/* Zeroed memory that lives as long as the model. */
static void *keep(leat_onnx *model, size_t size)
{
    block *b = calloc(1, sizeof *b + size);
    if (!b)
        return NULL;
    b->next = model->blocks;
    model->blocks = b;
    return b->bytes;
}

static void *keep_copy(leat_onnx *model, const void *from, size_t size)
{
    void *const copy = keep(model, size);
    if (copy && size)
        memcpy(copy, from, size);
    return copy;
}

static char *keep_text(leat_onnx *model, const char *text)
{
    return keep_copy(model, text, strlen(text) + 1);
}

static int no_memory(leat_format_error *err, const char *name)
{
    return leat_format_fail(err, LEAT_FORMAT_NOMEM, 0, "ONNX: no memory for \"%s\"", name);
}

leat_onnx *leat_onnx_open(const char *graph, const char *producer, const char *producer_version)
{
    leat_onnx *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    leat__onnx__model_proto__init(&model->model);
    leat__onnx__graph_proto__init(&model->graph);
    model->graph.name = keep_text(model, graph);
    model->model.producer_name = keep_text(model, producer);
    model->model.producer_version = keep_text(model, producer_version);
    model->model.has_ir_version = 1;
    model->model.ir_version = LEAT_ONNX_IR_VERSION;
    model->model.graph = &model->graph;
    if (!model->graph.name || !model->model.producer_name || !model->model.producer_version)
        leat_onnx_close(&model);
    return model;
}

void leat_onnx_close(leat_onnx **model)
{
    if (!*model)
        return;
    while ((*model)->blocks) {
        block *const next = (*model)->blocks->next;
        free((*model)->blocks);
        (*model)->blocks = next;
    }
    free((*model)->graph.node);
    free((*model)->graph.initializer);
    free((*model)->graph.input);
    free((*model)->graph.output);
    free(*model);
    *model = NULL;
}

/* --- inputs and outputs ----------------------------------------------------------------------------*/

static int check_name(const char *name, const char *what, leat_format_error *err)
{
    return name && *name
               ? LEAT_FORMAT_OK
               : leat_format_fail(err, LEAT_FORMAT_BAD, 0, "ONNX: %s without a name", what);
}

static Leat__Onnx__TensorShapeProto *make_shape(leat_onnx *model, const int64_t *dims, size_t n)
{
    Leat__Onnx__TensorShapeProto *shape = keep(model, sizeof *shape);
    dimension_proto *each = keep(model, n * sizeof *each);
    dimension_proto **list = keep(model, n * sizeof *list);
    if (!shape || !each || !list)
        return NULL;
    leat__onnx__tensor_shape_proto__init(shape);
    shape->n_dim = n;
    shape->dim = list;
    for (size_t i = 0; i < n; i++) {
        leat__onnx__tensor_shape_proto__dimension__init(&each[i]);
        list[i] = &each[i];
        each[i].value_case = LEAT__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        each[i].dim_value = dims[i];
        if (dims[i] >= 0)
            continue;
        each[i].value_case = LEAT__ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        each[i].dim_param = keep_text(model, "batch");
        if (!each[i].dim_param)
            return NULL;
    }
    return shape;
}

static value_proto *make_value(leat_onnx *model, const char *name, const int64_t *dims, size_t n)
{
    value_proto *value = keep(model, sizeof *value);
    Leat__Onnx__TypeProto *type = keep(model, sizeof *type);
    Leat__Onnx__TypeProto__Tensor *tensor = keep(model, sizeof *tensor);
    Leat__Onnx__TensorShapeProto *shape = make_shape(model, dims, n);
    char *own = keep_text(model, name);
    if (!value || !type || !tensor || !shape || !own)
        return NULL;
    leat__onnx__value_info_proto__init(value);
    leat__onnx__type_proto__init(type);
    leat__onnx__type_proto__tensor__init(tensor);
    value->name = own;
    value->type = type;
    type->value_case = LEAT__ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = tensor;
    tensor->has_elem_type = 1;
    tensor->elem_type = LEAT__ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->shape = shape;
    return value;
}

static int add_value(leat_onnx *model, value_proto ***list, size_t *n, const char *name,
                     const int64_t *dims, size_t n_dims, leat_format_error *err)
{
    const int rc = check_name(name, "an input or output", err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n_dims; i++)
        if (dims[i] < -1)
            return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "ONNX: \"%s\": dim %zu is %lld", name,
                                    i, (long long)dims[i]);
    value_proto *value = make_value(model, name, dims, n_dims);
    value_proto **longer = leat_grow(*list, *n, sizeof *longer);
    if (longer)
        *list = longer;
    if (!value || !longer)
        return no_memory(err, name);
    longer[(*n)++] = value;
    return LEAT_FORMAT_OK;
}

int leat_onnx_add_input(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                        leat_format_error *err)
{
    return add_value(model, &model->graph.input, &model->graph.n_input, name, dims, n_dims, err);
}

int leat_onnx_add_output(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                         leat_format_error *err)
{
    return add_value(model, &model->graph.output, &model->graph.n_output, name, dims, n_dims, err);
}

/* --- constants -------------------------------------------------------------------------------------*/

static int count_bytes(const char *name, const int64_t *dims, size_t n_dims, size_t each,
                       size_t *bytes, leat_format_error *err)
{
    *bytes = each;
    for (size_t i = 0; i < n_dims; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(*bytes, (size_t)dims[i], bytes))
            return leat_format_fail(err, LEAT_FORMAT_BAD, 0, "ONNX: \"%s\": dim %zu is %lld", name,
                                    i, (long long)dims[i]);
    return LEAT_FORMAT_OK;
}

int leat_onnx_add_floats(leat_onnx *model, const char *name, const int64_t *dims, size_t n_dims,
                         const float *values, leat_format_error *err)
{
    size_t bytes = 0;
    int rc = check_name(name, "a tensor", err);
    if (rc == LEAT_FORMAT_OK)
        rc = count_bytes(name, dims, n_dims, sizeof *values, &bytes, err);
    if (rc < 0)
        return rc;
    tensor_proto *tensor = keep(model, sizeof *tensor);
    char *own = keep_text(model, name);
    int64_t *shape = keep_copy(model, dims, n_dims * sizeof *shape);
    tensor_proto **longer =
        leat_grow(model->graph.initializer, model->graph.n_initializer, sizeof *longer);
    if (longer)
        model->graph.initializer = longer;
    if (!tensor || !own || !shape || !longer)
        return no_memory(err, name);
    longer[model->graph.n_initializer++] = tensor;
    leat__onnx__tensor_proto__init(tensor);
    tensor->name = own;
    tensor->n_dims = n_dims;
    tensor->dims = shape;
    tensor->has_data_type = 1;
    tensor->data_type = LEAT__ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    tensor->has_raw_data = 1;
    tensor->raw_data = (ProtobufCBinaryData){ bytes, (uint8_t *)(uintptr_t)values };
    return LEAT_FORMAT_OK;
}

/* --- nodes -----------------------------------------------------------------------------------------*/

/* Copies names up to NULL; NULL: out of memory. */
static char **keep_names(leat_onnx *model, const char *const *names, size_t *n)
{
    for (*n = 0; names[*n];)
        ++*n;
    char **list = keep(model, *n * sizeof *list);
    for (size_t i = 0; list && i < *n; i++)
        if (!(list[i] = keep_text(model, names[i])))
            return NULL;
    return list;
}

static int fill_attribute(leat_onnx *model, const leat_onnx_attribute *from, attribute_proto *to)
{
    static const Leat__Onnx__AttributeProto__AttributeType types[] = {
        [LEAT_ONNX_INT] = LEAT__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT,
        [LEAT_ONNX_FLOAT] = LEAT__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT,
        [LEAT_ONNX_INTS] = LEAT__ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS,
    };
    leat__onnx__attribute_proto__init(to);
    to->name = keep_text(model, from->name);
    to->has_type = 1;
    to->type = types[from->kind];
    to->has_i = from->kind == LEAT_ONNX_INT;
    to->i = from->i;
    to->has_f = from->kind == LEAT_ONNX_FLOAT;
    to->f = from->f;
    to->n_ints = from->kind == LEAT_ONNX_INTS ? from->n : 0;
    to->ints = keep_copy(model, from->ints, to->n_ints * sizeof *to->ints);
    return to->name && to->ints ? LEAT_FORMAT_OK : LEAT_FORMAT_NOMEM;
}

static int fill_attributes(leat_onnx *model, const leat_onnx_attribute *attributes, size_t n,
                           node_proto *node)
{
    attribute_proto *each = keep(model, n * sizeof *each);
    node->attribute = keep(model, n * sizeof *node->attribute);
    if (!each || !node->attribute)
        return LEAT_FORMAT_NOMEM;
    for (size_t i = 0; i < n; i++) {
        node->attribute[i] = &each[i];
        if (fill_attribute(model, &attributes[i], &each[i]) < 0)
            return LEAT_FORMAT_NOMEM;
    }
    node->n_attribute = n;
    return LEAT_FORMAT_OK;
}

int leat_onnx_add_node(leat_onnx *model, const char *op_type, const char *name,
                       const char *const *inputs, const char *const *outputs,
                       const leat_onnx_attribute *attributes, size_t n_attributes,
                       leat_format_error *err)
{
    node_proto *node = keep(model, sizeof *node);
    node_proto **longer = leat_grow(model->graph.node, model->graph.n_node, sizeof *longer);
    if (longer)
        model->graph.node = longer;
    if (!node || !longer)
        return no_memory(err, name);
    leat__onnx__node_proto__init(node);
    node->op_type = keep_text(model, op_type);
    node->name = keep_text(model, name);
    node->input = keep_names(model, inputs, &node->n_input);
    node->output = keep_names(model, outputs, &node->n_output);
    if (!node->op_type || !node->name || !node->input || !node->output ||
        fill_attributes(model, attributes, n_attributes, node) < 0)
        return no_memory(err, name);
    longer[model->graph.n_node++] = node;
    return LEAT_FORMAT_OK;
}

/* --- the file --------------------------------------------------------------------------------------*/

/* Where protobuf-c appends what it packs. */
typedef struct stream {
    ProtobufCBuffer base; /* first: protobuf-c passes its address */
    leat_atomic_file *file;
    leat_format_error *err;
    int rc;
} stream;

static void append_to_file(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    stream *const s = (stream *)buffer;
    if (s->rc == LEAT_FORMAT_OK)
        s->rc = leat_atomic_file_write(s->file, bytes, size, s->err);
}

static int write_model(const Leat__Onnx__ModelProto *model, const char *path,
                       leat_format_error *err)
{
    stream s = { .base = { append_to_file }, .err = err };
    const size_t size = leat__onnx__model_proto__get_packed_size(model);
    if (size > INT32_MAX)
        return leat_format_fail(err, LEAT_FORMAT_BAD, 0,
                                "%s: an ONNX file of %zu bytes; readers refuse 2 GiB and more",
                                path, size);
    int rc = leat_atomic_file_open(&s.file, path, 0, err);
    if (rc < 0)
        return rc;
    leat__onnx__model_proto__pack_to_buffer(model, &s.base);
    rc = s.rc;
    if (rc == LEAT_FORMAT_OK)
        rc = leat_atomic_file_commit(s.file, err);
    leat_atomic_file_close(&s.file);
    return rc;
}

int leat_onnx_write(const leat_onnx *model, const char *path, leat_format_error *err)
{
    Leat__Onnx__OperatorSetIdProto opset = LEAT__ONNX__OPERATOR_SET_ID_PROTO__INIT, *list = &opset;
    Leat__Onnx__ModelProto whole = model->model;
    char everyday[] = ""; /* the domain of ONNX's own operators */
    opset.domain = everyday;
    opset.has_version = 1;
    opset.version = LEAT_ONNX_OPSET;
    whole.n_opset_import = 1;
    whole.opset_import = &list;
    return write_model(&whole, path, err);
}
