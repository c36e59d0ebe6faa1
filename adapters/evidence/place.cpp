#include "adapters/evidence/place.h"

#include <algorithm>
#include <array>

#include "adapters/evidence/library_frames.h"
#include "adapters/formats/printable.h"

namespace tocsin::adapters::evidence {

namespace {

constexpr std::size_t most_name = 80;
constexpr std::size_t most_own = 5;  // frames in the text; between the innermost ones and the outermost: …

constexpr Doing words[] = {
    {"collective", "in torch.distributed, FSDP's own code, Horovod, or native code of Gloo, NCCL or MPI"},
    {"syncing", "in DDP's own code, which synchronizes the buffers of the model"},
    {"loading", "in a data loader: torch.utils.data, webdataset, datasets, DALI and the like"},
    {"saving", "writing a checkpoint: torch.save, torch.distributed.checkpoint, safetensors, copying of files"},
    {"compiling", "in torch.compile (Dynamo, Inductor), Triton's compiler, torch.jit or a C++ extension's build"},
    {"importing", "importing modules"},
    {"computing", "in torch.nn, autograd (a backward of DDP waits there, too), an optimizer, numpy, or native kernels"},
    {"lock", "in threading, queue or multiprocessing, waiting for another thread or process; or in flock or fcntl"},
    {"reading", "loading a checkpoint, or reading a file, a pipe or a connection"},
    {"writing", "writing a file, a pipe or a connection, or a log"},
    {"child", "waiting for a process that it started"},
    {"waiting", "in the program's own code, the kernel shows that it sleeps: a lock, or native code"},
    {"sleeping", "in the program's own code, in a sleep"},
    {"own", "in the program's own code, which runs"},
    {"other", "in a library that tells nothing about what is done"},
    {"stopped", "stopped by a signal or a debugger"},
};

std::string base_name(const std::string& file) {
  return formats::printable(file.substr(file.rfind('/') + 1).substr(0, most_name));
}

// "main.<locals>.Loader.next" is "Loader.next"; the module's own code goes by the file alone.
std::string short_name(const std::string& function) {
  const std::size_t at = function.rfind("<locals>.");
  return formats::printable((at == std::string::npos ? function : function.substr(at + 9)).substr(0, most_name));
}

// For the text: "__next__" is "next", "Queue.get" is "get", "gloo::Context::recv" stays.
std::string word_of(const Frame& frame) {
  std::string name = short_name(frame.function);
  if (frame.native) return name.substr(0, name.find_first_of("(<"));
  name.erase(0, name.rfind('.') + 1);
  const std::size_t begin = name.find_first_not_of('_'), end = name.find_last_not_of('_');
  return begin == std::string::npos ? name : name.substr(begin, end - begin + 1);
}

bool is_public(const Frame& frame) {
  const std::string name = short_name(frame.function);
  const std::string_view last = std::string_view{name}.substr(name.rfind('.') + 1);
  return !last.starts_with('_') && !last.starts_with('<') && last != "wrapper" && last != "decorate_context";
}

struct Library {
  std::string doing, word;
};

// Of the frames of libraries within the innermost frame of the program.
Library library_of(const std::vector<Frame>& frames) {
  std::vector<std::string_view> signs;
  std::string_view strong, weak;
  for (const Frame& frame : frames) {
    const Sign sign = sign_of(frame);
    signs.push_back(sign.doing);
    if (sign.doing.empty()) continue;
    if (sign.weak ? weak.empty() : strong.empty()) (sign.weak ? weak : strong) = sign.doing;
  }
  const auto has = [&](std::string_view doing) { return std::find(signs.begin(), signs.end(), doing) != signs.end(); };
  std::string_view doing = strong;
  // While a model is compiled its layers are run without values; what a loader or a checkpoint computes is a part of
  // it.
  if (has("compiling") && strong != "lock") doing = "compiling";
  else if (strong == "computing" && has("saving")) doing = "saving";
  else if (strong == "computing" && has("loading")) doing = "loading";
  if (doing.empty()) doing = has("importing") ? "importing" : weak;
  Library out{std::string{doing}, {}};
  // The innermost function with a name for others, of those that say so; else the innermost.
  const Frame* chosen = nullptr;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (!doing.empty() && signs[i] != doing) continue;
    if (chosen == nullptr || (!is_public(*chosen) && is_public(frames[i]))) chosen = &frames[i];
  }
  if (chosen != nullptr) out.word = doing == "importing" ? "import" : word_of(*chosen);
  if (out.doing.empty() && !frames.empty()) out.doing = "other";
  return out;
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool left_out = parts.size() > most_own && i >= most_own - 1 && i + 1 < parts.size();
    if (left_out && i > most_own - 1) continue;
    out += (out.empty() ? "" : " < ") + (left_out ? "…" : parts[i]);
  }
  return out;
}

std::string kernel_text(const ThreadStack& thread) {
  if (thread.state == 'R') return "running";
  if (thread.state == 'Z' || thread.state == 'X') return "ended";
  if (thread.state == 'T' || thread.state == 't') return "stopped";
  std::string out = thread.state == 'D' ? "uninterruptible sleep" : "sleeping";
  if (!thread.call.empty()) out += " in " + thread.call;
  if (!thread.waits.empty()) out += " (" + thread.waits + ")";
  return out;
}

// The frames of compiled code that say what is done; the interpreter's and the C library's do not.
Place native_place(const ThreadStack& thread) {
  Place place;
  std::vector<Frame> frames;
  for (const Frame& frame : thread.frames)
    if (!sign_of(frame).doing.empty()) frames.push_back(frame);
  place.doing = frames.empty() ? "" : sign_of(frames.front()).doing;
  std::vector<std::string> parts;
  for (const Frame& frame : frames.empty() ? thread.frames : frames) {
    const bool interpreter = frame.function.starts_with("Py") || frame.function.starts_with("_Py");
    if (parts.size() < 3 && !interpreter) parts.push_back(word_of(frame));
  }
  place.text = place.brief = place.key = join(parts);
  return place;
}

Place python_place(const ThreadStack& thread) {
  const auto& frames = thread.frames;
  Owner own = Owner::program;
  const auto is_own = [&](const Frame& frame) { return owner_of(frame) <= own; };
  if (std::none_of(frames.begin(), frames.end(), is_own)) own = Owner::package;
  const auto innermost = std::find_if(frames.begin(), frames.end(), is_own);
  Library library = library_of({frames.begin(), innermost});
  std::vector<std::string> parts, brief;
  Place place;
  if (!library.word.empty()) parts.push_back(library.word), brief.push_back(library.word);
  std::vector<const Frame*> owned;
  for (auto at = innermost; at != frames.end(); ++at)
    if (is_own(*at)) owned.push_back(&*at);
  // The code of a module, and what starts it, tell nothing where a function of it is there.
  if (owned.size() > 1)
    std::erase_if(owned, [&](const Frame* frame) { return frame->function == "<module>" && frame != owned.front(); });
  for (const Frame* frame : owned) {
    const std::string function = short_name(frame->function), file = base_name(frame->file);
    place.key += (place.key.empty() ? "" : " < ") + function + " (" + file + ")";
    brief.push_back(function + " (" + file + ")");
    parts.push_back(function + " (" + file + (frame->line == 0 ? "" : ":" + std::to_string(frame->line)) + ")");
  }
  place.doing = library.doing;
  if (place.doing.empty() || place.doing == "other") {
    // A call of the standard library's compiled code has no frame: sleep, read, acquire.
    const std::string_view shown = thread.state == 'S' || thread.state == 'D' ? doing_of_call(thread.call) : "";
    if (!shown.empty() && !thread.interprets) place.doing = shown;
    else if (place.doing.empty()) place.doing = "own";
  }
  place.text = join(parts);
  place.brief = join(brief);
  if (place.key.empty()) place.key = place.brief;
  return place;
}

}  // namespace

std::span<const Doing> doings() noexcept { return words; }

Place place_of(const ProcessStack& stack) {
  const ThreadStack* thread = stack.main_thread();
  if (thread == nullptr) return {};
  Place place;
  if (thread->frames.empty() || stack.way == Way::kernel) {
    place.text = place.brief = place.key = kernel_text(*thread);
  } else {
    place = stack.way == Way::gdb ? native_place(*thread) : python_place(*thread);
  }
  if (thread->state == 'T') place.doing = "stopped";
  return place;
}

bool takes_requests(const ProcessStack& stack) {
  return std::ranges::any_of(stack.threads,
                             [](const auto& thread) { return std::ranges::any_of(thread.frames, serves); });
}

bool same_place(const Place& a, const Place& b) noexcept {
  return !a.key.empty() && a.key == b.key && a.doing == b.doing;
}

}  // namespace tocsin::adapters::evidence
