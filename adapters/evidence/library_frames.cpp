#include "adapters/evidence/library_frames.h"

#include <algorithm>
#include <array>

namespace tocsin::adapters::evidence {

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The path below where packages or the standard library lie, else the whole.
std::string_view inner_path(std::string_view file) {
  for (const std::string_view above : {"/site-packages/", "/dist-packages/"})
    if (const std::size_t at = file.rfind(above); at != std::string_view::npos) return file.substr(at + above.size());
  // "/usr/lib/python3.11/queue.py"
  if (const std::size_t at = file.rfind("/lib/python"); at != std::string_view::npos) {
    const std::size_t end = file.find('/', at + 11);
    if (end != std::string_view::npos && file[at + 11] >= '2' && file[at + 11] <= '9') return file.substr(end + 1);
  }
  // A PyTorch that was built where its sources are.
  for (const std::string_view part : {"/torch/nn/", "/torch/autograd/", "/torch/distributed/", "/torch/optim/",
                                      "/torch/utils/", "/torch/_dynamo/", "/torch/_inductor/"})
    if (const std::size_t at = file.rfind(part); at != std::string_view::npos) return file.substr(at + 1);
  return file;
}

constexpr std::string_view frameworks[] = {"torch/",
                                           "torchvision/",
                                           "torchaudio/",
                                           "torchdata/",
                                           "transformers/",
                                           "accelerate/",
                                           "lightning/",
                                           "lightning_fabric/",
                                           "pytorch_lightning/",
                                           "deepspeed/",
                                           "megatron/",
                                           "numpy/",
                                           "scipy/",
                                           "pandas/",
                                           "triton/",
                                           "datasets/",
                                           "webdataset/",
                                           "peft/",
                                           "trl/",
                                           "timm/",
                                           "flash_attn/",
                                           "xformers/",
                                           "apex/",
                                           "transformer_engine/",
                                           "safetensors/",
                                           "huggingface_hub/",
                                           "tqdm/",
                                           "click/",
                                           "typer/",
                                           "hydra/",
                                           "fire/",
                                           "absl/",
                                           "jax/",
                                           "jaxlib/",
                                           "flax/",
                                           "tensorflow/",
                                           "ray/",
                                           "wandb/",
                                           "mlflow/",
                                           "tensorboard/",
                                           "requests/",
                                           "urllib3/",
                                           "fsspec/",
                                           "pyarrow/",
                                           "PIL/",
                                           "horovod/",
                                           "torch_xla/",
                                           "composer/",
                                           "streaming/",
                                           "sklearn/"};

struct Known {
  std::string_view path;       // the inner path begins with it
  std::string_view functions;  // one of these, between blanks; a * at the end stands for any end; empty: every one
  std::string_view doing;      // empty: it says nothing
  bool weak = false;
};

// The first that fits.
constexpr Known python_frames[] = {
    {"torch/utils/file_baton.py", "", "lock"},
    {"torch/_dynamo/convert_frame.py", "", "compiling"},
    {"torch/_inductor/compile_fx.py", "*compile*", "compiling"},
    {"torch/_inductor/graph.py", "", "compiling"},
    {"torch/_inductor/scheduler.py", "", "compiling"},
    {"torch/_inductor/async_compile.py", "", "compiling"},
    {"torch/_inductor/cpp_builder.py", "", "compiling"},
    {"torch/_inductor/select_algorithm.py", "", "compiling"},
    {"torch/_inductor/codegen/", "", "compiling"},
    {"torch/utils/cpp_extension.py", "", "compiling"},
    {"torch/jit/", "script trace* compile* create_script*", "compiling"},
    {"triton/compiler/", "", "compiling"},
    {"torch/_dynamo/", "", ""},
    {"torch/_inductor/", "", "computing"},
    {"torch/_functorch/", "", "computing"},
    {"triton/", "", "computing"},
    {"torch/distributed/checkpoint/", "load* _load* read* async_load*", "reading"},
    {"torch/distributed/checkpoint/", "", "saving"},
    {"torch/distributed/elastic/", "", ""},
    {"torch/distributed/launcher/", "", ""},
    {"torch/distributed/run.py", "", ""},
    {"torch/distributed/optim/", "", "computing"},
    {"torch/distributed/tensor/_collective_utils.py", "", "collective"},
    {"torch/distributed/tensor/_redistribute.py", "", "collective"},
    {"torch/distributed/tensor/", "", "computing"},
    {"torch/distributed/_tensor/", "", "computing"},
    {"torch/distributed/", "", "collective"},
    {"torch/nn/parallel/distributed.py", "", "syncing"},
    {"deepspeed/comm/", "", "collective"},
    {"horovod/", "", "collective"},
    {"torch_xla/", "", "collective"},
    {"jax/experimental/multihost_utils.py", "", "collective"},
    {"ray/util/collective/", "", "collective"},
    {"torch/serialization.py", "load* _load* _legacy_load* persistent_load* find_class*", "reading"},
    {"torch/serialization.py", "", "saving"},
    {"safetensors/", "save* serialize* _flatten* _tobytes*", "saving"},
    {"safetensors/", "", "reading"},
    {"orbax/", "", "saving"},
    {"deepspeed/runtime/checkpoint_engine/", "load*", "reading"},
    {"deepspeed/runtime/checkpoint_engine/", "", "saving"},
    {"transformers/modeling_utils.py", "save_pretrained*", "saving"},
    {"transformers/modeling_utils.py", "from_pretrained* load* _load*", "reading"},
    {"accelerate/checkpointing.py", "save*", "saving"},
    {"lightning/fabric/plugins/io/", "save* remove*", "saving"},
    {"numpy/lib/", "save* _savez*", "saving"},
    {"numpy/lib/", "load*", "reading"},
    {"json/__init__.py", "dump", "saving"},
    {"pickle.py", "dump save*", "saving"},
    {"shutil.py", "", "saving"},
    {"torch/utils/data/", "", "loading"},
    {"torchdata/", "", "loading"},
    {"webdataset/", "", "loading"},
    {"datasets/", "", "loading"},
    {"streaming/", "", "loading"},
    {"litdata/", "", "loading"},
    {"nvidia/dali/", "", "loading"},
    {"ffcv/", "", "loading"},
    {"grain/", "", "loading"},
    {"tensorflow/python/data/", "", "loading"},
    {"torch/nn/", "", "computing"},
    {"torch/autograd/", "", "computing"},
    {"torch/optim/", "", "computing"},
    {"torch/cuda/", "", "computing"},
    {"torch/amp/", "", "computing"},
    {"torch/utils/checkpoint.py", "", "computing"},
    {"torch/functional.py", "", "computing"},
    {"torch/_tensor.py", "", "computing"},
    {"torch/_ops.py", "__call__ _call*", "computing"},
    {"torch/_refs/", "", "computing"},
    {"torch/_decomp/", "", "computing"},
    {"numpy/", "", "computing"},
    {"scipy/", "", "computing"},
    {"transformers/models/", "", "computing"},
    {"flash_attn/", "", "computing"},
    {"xformers/", "", "computing"},
    {"transformer_engine/", "", "computing"},
    {"torchvision/models/", "", "computing"},
    {"torchvision/ops/", "", "computing"},
    {"<frozen importlib", "", "importing", true},
    {"threading.py", "acquire wait* join _wait* __enter__", "lock", true},
    {"queue.py", "get put join", "lock", true},
    {"multiprocessing/synchronize.py", "", "lock", true},
    {"multiprocessing/queues.py", "", "lock", true},
    {"concurrent/futures/", "result wait as_completed*", "lock", true},
    {"filelock/", "", "lock", true},
    {"multiprocessing/connection.py", "_recv* recv* _poll poll wait", "reading", true},
    {"multiprocessing/connection.py", "_send* send*", "writing", true},
    {"multiprocessing/popen_fork.py", "wait poll", "child", true},
    {"subprocess.py", "", "child", true},
    {"asyncio/", "", "waiting", true},
    {"logging/", "", "writing", true},
    {"zipfile.py", "write* close _write*", "writing", true},
    {"zipfile/", "write* close _write*", "writing", true},
    {"socket.py", "send*", "writing", true},
    {"ssl.py", "send* write*", "writing", true},
    {"socket.py", "", "reading", true},
    {"ssl.py", "", "reading", true},
    {"http/", "", "reading", true},
    {"urllib/", "", "reading", true},
    {"urllib3/", "", "reading", true},
    {"requests/", "", "reading", true},
    {"httpx/", "", "reading", true},
    {"aiohttp/", "", "reading", true},
    {"botocore/", "", "reading", true},
    {"fsspec/", "", "reading", true},
    {"huggingface_hub/", "", "reading", true},
    {"zipfile.py", "", "reading", true},
    {"zipfile/", "", "reading", true},
    {"tarfile.py", "", "reading", true},
    {"gzip.py", "", "reading", true},
    {"codecs.py", "", "reading", true},
    {"pathlib.py", "read*", "reading", true},
    {"pathlib.py", "write*", "writing", true},
    {"json/", "load*", "reading", true},
    {"h5py/", "", "reading", true},
    {"pyarrow/", "", "reading", true},
    {"pandas/io/", "", "reading", true},
    {"PIL/", "", "reading", true}};

// Loops that wait for requests.
constexpr Known servers[] = {{"asyncio/base_events.py", "run_forever", ""},
                             {"socketserver.py", "serve_forever", ""},
                             {"uvicorn/", "", ""},
                             {"hypercorn/", "", ""},
                             {"gunicorn/", "", ""},
                             {"waitress/", "", ""},
                             {"aiohttp/web", "", ""},
                             {"tornado/ioloop.py", "", ""},
                             {"grpc/_server.py", "", ""},
                             {"zmq/", "", ""}};

struct KnownNative {
  std::string_view part, doing;
};
constexpr KnownNative native_frames[] = {{"gloo::", "collective"},
                                         {"c10d::", "collective"},
                                         {"nccl", "collective"},
                                         {"MPI_", "collective"},
                                         {"ucc_", "collective"},
                                         {"at::native", "computing"},
                                         {"at::_ops", "computing"},
                                         {"mkl_", "computing"},
                                         {"dnnl", "computing"},
                                         {"cudnn", "computing"},
                                         {"cublas", "computing"},
                                         {"gemm", "computing"},
                                         {"torch::autograd::Engine", "computing"},
                                         {"cudaStreamSynchronize", "computing"},
                                         {"cuStreamSynchronize", "computing"},
                                         {"cudaDeviceSynchronize", "computing"},
                                         {"blas_thread_server", "computing"}};

struct KnownCall {
  std::string_view call, doing;
};
constexpr KnownCall waiting_calls[] = {{"clock_nanosleep", "sleeping"},
                                       {"nanosleep", "sleeping"},
                                       {"flock", "lock"},
                                       {"fcntl", "lock"},
                                       {"read", "reading"},
                                       {"readv", "reading"},
                                       {"pread", "reading"},
                                       {"open", "reading"},
                                       {"openat", "reading"},
                                       {"recvfrom", "reading"},
                                       {"recvmsg", "reading"},
                                       {"connect", "reading"},
                                       {"accept", "reading"},
                                       {"accept4", "reading"},
                                       {"stat", "reading"},
                                       {"statx", "reading"},
                                       {"getdents", "reading"},
                                       {"write", "writing"},
                                       {"writev", "writing"},
                                       {"pwrite", "writing"},
                                       {"sendto", "writing"},
                                       {"sendmsg", "writing"},
                                       {"fsync", "writing"},
                                       {"fdatasync", "writing"},
                                       {"close", "writing"},
                                       {"sendfile", "writing"},
                                       {"copy_file_range", "writing"},
                                       {"futex", "waiting"},
                                       {"wait4", "child"},
                                       {"waitid", "child"},
                                       {"poll", "waiting"},
                                       {"ppoll", "waiting"},
                                       {"select", "waiting"},
                                       {"pselect6", "waiting"},
                                       {"epoll_wait", "waiting"},
                                       {"epoll_pwait", "waiting"},
                                       {"sigtimedwait", "waiting"},
                                       {"sigsuspend", "waiting"}};

bool fits(std::string_view pattern, std::string_view function) {
  if (pattern.starts_with('*')) return has(function, pattern.substr(1, pattern.size() - 2));
  if (pattern.ends_with('*')) return function.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == function;
}

bool one_of(std::string_view patterns, std::string_view function) {
  if (patterns.empty()) return true;
  if (const std::size_t at = function.rfind('.'); at != std::string_view::npos) function.remove_prefix(at + 1);
  for (;;) {
    const std::size_t end = patterns.find(' ');
    if (fits(patterns.substr(0, end), function)) return true;
    if (end == std::string_view::npos) return false;
    patterns.remove_prefix(end + 1);
  }
}

}  // namespace

Owner owner_of(const Frame& frame) {
  if (frame.native) return Owner::library;
  const std::string_view file = frame.file, inner = inner_path(file);
  if (file.starts_with('<') || file.empty() || has(file, "/torchinductor_")) return Owner::library;
  if (inner.size() == file.size()) return Owner::program;
  const bool installed = has(file, "/site-packages/") || has(file, "/dist-packages/");
  const bool known = std::any_of(std::begin(frameworks), std::end(frameworks),
                                 [&](std::string_view one) { return inner.starts_with(one); });
  return installed && !known ? Owner::package : Owner::library;
}

Sign sign_of(const Frame& frame) {
  if (frame.native) {
    for (const KnownNative& known : native_frames)
      if (has(frame.function, known.part)) return {known.doing};
    return {};
  }
  if (has(frame.file, "/torchinductor_")) return {"computing"};
  if (frame.function == "<module>") return {};  // it is being imported
  const std::string_view inner = inner_path(frame.file);
  for (const Known& known : python_frames)
    if (inner.starts_with(known.path) && one_of(known.functions, frame.function)) return {known.doing, known.weak};
  return {};
}

bool serves(const Frame& frame) {
  const std::string_view inner = inner_path(frame.file);
  return std::any_of(std::begin(servers), std::end(servers), [&](const Known& known) {
    return inner.starts_with(known.path) && one_of(known.functions, frame.function);
  });
}

std::string_view doing_of_call(std::string_view call) {
  for (const KnownCall& known : waiting_calls)
    if (known.call == call) return known.doing;
  return {};
}

}  // namespace tocsin::adapters::evidence
