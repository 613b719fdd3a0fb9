// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fmt/core.h>

#include <signal.h>
#include <sys/types.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <lowp/io.hpp>
#include <span>
#include <string_view>
#include <system_error>

#include "audit.hpp"
#include "conversion.hpp"
#include "difference.hpp"
#include "files/problem.hpp"
#include "files/text.hpp"
#include "options.hpp"
#include "pages/json.hpp"
#include "pages/page.hpp"
#include "pages/table.hpp"
#include "pages/verdict.hpp"
#include "targets/targets.hpp"

namespace {

// Names the standard output for a report, to which nothing else is then written.
constexpr std::string_view standard_output = "-";

sink into(std::FILE* out) {
  return [out](std::string_view text) { std::fwrite(text.data(), 1, text.size(), out); };
}

void write_file(std::string const& path, std::FILE* out,
                std::function<void(sink const&)> const& write) {
  if (path.empty()) return;
  if (path == standard_output) return write(into(out));
  lowp::atomic_file file(path);
  std::string pending;
  std::uint64_t at = 0;
  auto const flush = [&] {
    if (stop) throw interruption();
    file.write_at(at, std::as_bytes(std::span(pending)));
    at += pending.size();
    pending.clear();
  };
  write([&](std::string_view text) {
    pending += text;
    if (pending.size() >= std::size_t{1} << 16) flush();
  });
  flush();
  file.commit();
}

// Tells if one file would replace the other: by another spelling, through a link, existing or not.
bool are_one_file(std::string const& a, std::string const& b) {
  namespace fs = std::filesystem;
  if (a == standard_output || b == standard_output) return a == b;
  std::error_code not_there;
  auto const end_of_links = [&](fs::path path) {
    constexpr int most_links = 40;
    for (int i = 0; i < most_links && fs::is_symlink(path, not_there); ++i)
      path = path.parent_path() / fs::read_symlink(path, not_there);
    return fs::weakly_canonical(fs::absolute(path));
  };
  return fs::equivalent(a, b, not_there) || end_of_links(a) == end_of_links(b);
}

void note(std::FILE* err, std::string const& text) {
  if (!text.empty()) fmt::print(err, "lowp-model: note: {}\n", one_line(text));
}

// Refuses a path that cannot be written, before the work. Tells what killed runs have left there.
void probe(std::string const& path, std::FILE* err) {
  for (std::string const& part : lowp::atomic_file(path).parts_of_others()) {
    std::error_code gone;
    auto const bytes = std::filesystem::file_size(part, gone);
    std::string_view process = std::string_view(part).substr(0, part.rfind('-'));
    process.remove_prefix(process.rfind('-') + 1);
    pid_t number = 0;
    char const* const end = process.data() + process.size();
    if (std::from_chars(process.data(), end, number).ptr != end || number <= 0) continue;
    bool const has_ended = ::kill(number, 0) != 0 && errno == ESRCH;
    if (!gone)
      note(err, fmt::format("'{}', {} bytes, is of process {}, which {}", part, bytes, process,
                            has_ended ? "does not run here: remove it" : "runs"));
  }
}

// The same, and refuses a path that would replace an input.
void probe_report(std::string const& path, std::initializer_list<model const*> read,
                  std::FILE* err) {
  if (path.empty() || path == standard_output) return;
  for (model const* const each : read) each->spare(path);
  probe(path, err);
}

status run(audit_options const& o, std::FILE* out, std::FILE* err) {
  model const of(o.what.model);
  note(err, of.note());
  if (!o.json.empty() && !o.html.empty() && are_one_file(o.json, o.html))
    throw problem(fmt::format("--json '{}' and --html '{}' are one file", o.json, o.html));
  for (std::string const& path : {o.json, o.html}) probe_report(path, {&of}, err);
  audit a;
  {
    progress bar(err, "audit");
    a = take_audit(of, o.what, bar);
  }
  verdict const v = verdict_on(a, o.what.is_scaled, o.flushed);
  write_file(o.json, out, [&](sink const& to) { write_json(a, v, o.what.is_scaled, to); });
  write_file(o.html, out, [&](sink const& to) { write_page(a, v, to); });
  status const result = v.fits ? status::yes : status::no;
  if (o.json == standard_output || o.html == standard_output) return result;
  write_table(a, o.top, into(out));
  fmt::print(out, "\nverdict: {}\n", v.text);
  if (verdict const other = verdict_on(a, true, o.flushed); !v.fits && !o.what.is_scaled)
    fmt::print(out, "         {}\n", other.text);
  return result;
}

status run(convert_options const& o, std::FILE* out, std::FILE* err) {
  model const from(o.what.model);
  note(err, from.note());
  // A single file may be replaced by itself in another format; a file of several would leave a
  // model in pieces.
  if (from.is_sharded()) from.spare(o.out);
  probe(o.out, err);
  conversion_report report;
  {
    progress bar(err, "convert");
    report = convert(from, o, bar);
  }
  fmt::print(out, "{}: {} converted to {}, {} of them with a scale, {} copied; {} bytes, were {}\n",
             one_line(o.out), counted(report.converted, "tensor"), o.what.to->name, report.scaled,
             report.copied, report.bytes_after, report.bytes_before);
  std::fputs(losses_of(report).c_str(), out);
  return status::yes;
}

status run(diff_options const& o, std::FILE* out, std::FILE* err) {
  model const a(o.a), b(o.b);
  for (model const* const each : {&a, &b}) note(err, each->note());
  probe_report(o.json, {&a, &b}, err);
  difference d;
  {
    progress bar(err, "diff");
    d = compare(a, b, bar);
  }
  write_file(o.json, out, [&](sink const& to) { write_json(d, to); });
  if (o.json != standard_output) write_report(d, o.top, into(out));
  bool is_equal = d.tensors.empty() && d.metadata.empty();
  if (o.within) {
    is_equal = true;
    for (tensor_difference const& each : d.tensors)
      is_equal = is_equal && each.is_within(*o.within);
  }
  return is_equal ? status::yes : status::no;
}

}  // namespace

status run(std::vector<std::string> arguments, std::FILE* out, std::FILE* err) {
  return way_out<status>("lowp-model", out, err, [&] {
    auto const parsed = parse(std::move(arguments));
    if (auto const* const command = std::get_if<options>(&parsed))
      return std::visit([&](auto const& o) { return run(o, out, err); }, *command);
    std::fputs(std::get<std::string>(parsed).c_str(), out);
    return status::yes;
  });
}
