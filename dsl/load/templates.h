#pragma once

#include <functional>
#include <string>
#include <vector>

#include "stream/rules/pack.h"
#include "stream/values/result.h"

namespace tocsin::dsl {

// Parses "rank {rank}: {x:.2f}[ on {node}], at most {p.limit}" for a rule of this level. "{{", "}}", "[[" and "]]" are
// braces and brackets. The names of outputs come before those of members; rank, gpu, node and rack that are finer than
// the rule are those of its culprits. {job.user} is a label of the job.
[[nodiscard]] stream::Result<stream::TextTemplate> parse_template(
    const std::string& text, stream::Level per, const std::function<bool(const std::string&)>& is_output);
// The alternatives as they are written; `problem` gets what is wrong with one, which is then left out.
[[nodiscard]] stream::Texts parse_texts(const std::vector<std::string>& written, stream::Level per,
                                        const std::function<bool(const std::string&)>& is_output,
                                        const std::function<void(const std::string&)>& problem);
// The names that a text of this level can use for the member and what contains it.
[[nodiscard]] std::vector<std::string> member_names(stream::Level per);

}  // namespace tocsin::dsl
