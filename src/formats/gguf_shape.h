// What a plan needs of the model in a GGUF file, whether it runs here or not: the shape that a config.json gives
// (formats/model_shape.h), from the header and the tensor table alone.
//
//   layers       {arch}.block_count, without the last {arch}.nextn_predict_layers
//   heads        attention.head_count, head_count_kv: one number, or one a layer; 0: the layer has no attention
//   head sizes   attention.key_length, value_length (windows: _swa); latent: kv_lora_rank and *_mla
//   kinds        formats/gguf_layers.h; states: ssm.inner_size, state_size, group_count, conv_kernel
//   parameters   the tensors' own sizes (formats/gguf_weights.h)
//
// An architecture that is not known is read by the same keys, a full cache where none says otherwise, and `doubts` says
// so. Recurrent layers of a kind whose state is not known here are refused. Every count is range-checked.
//
// Errors: gguf_missing, gguf_bad_type, gguf_bad_value, gguf_bad_shape, unsupported_feature.
//
//   ATTEND_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::OpenHeader("model.gguf"));
//   ATTEND_ASSIGN_OR_RETURN(const ModelShape shape, ShapeOfGguf(file));
#pragma once

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/model_shape.h"

namespace attend {

Result<ModelShape> ShapeOfGguf(const GgufFile& file);

}  // namespace attend
