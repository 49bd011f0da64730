#include "attend/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace attend::cli {
namespace {

std::atomic<bool> interrupted{false};

void OnInterrupt(int) {
  if (interrupted.exchange(true)) _exit(130);
}

std::string Styled(std::string_view text, const char* code) {
  return UseColour() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string MinutesText(double seconds) {
  const int64_t s = static_cast<int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

}  // namespace

bool StdoutIsTerminal() {
  return isatty(STDOUT_FILENO) != 0;
}
bool StderrIsTerminal() {
  return isatty(STDERR_FILENO) != 0;
}

bool UseColour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return StdoutIsTerminal() && (no_colour == nullptr || no_colour[0] == '\0');
}

std::string Bold(std::string_view text) {
  return Styled(text, "1");
}
std::string Dim(std::string_view text) {
  return Styled(text, "2");
}

Progress::Progress(std::string phase, std::string unit, int64_t total, bool enabled)
    : phase_(std::move(phase)),
      unit_(std::move(unit)),
      total_(total),
      enabled_(enabled),
      bar_(StderrIsTerminal()),
      begin_(Clock::now()),
      last_shown_(begin_) {}

Progress::~Progress() {
  if (shown_ && bar_) std::fputs("\n", stderr);
}

std::string Progress::Line(int64_t done, double seconds) const {
  const double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  const double left = rate > 0 ? static_cast<double>(total_ - done) / rate : 0;
  std::string line =
      fmt::format("{} {}/{} {}  {:.0f} {}/s  {} left", phase_, done, total_, unit_, rate, unit_, MinutesText(left));
  if (bar_) {
    const int64_t filled = total_ > 0 ? 24 * done / total_ : 24;
    line = fmt::format("[{}{}] {}", std::string(static_cast<size_t>(filled), '#'),
                       std::string(static_cast<size_t>(24 - filled), '.'), line);
  }
  return line;
}

void Progress::Update(int64_t done) {
  if (!enabled_) return;
  const auto now = Clock::now();
  const double since_begin = std::chrono::duration<double>(now - begin_).count();
  const double since_shown = std::chrono::duration<double>(now - last_shown_).count();
  if (bar_ ? (since_begin < 1 || (since_shown < 0.1 && done < total_)) : since_shown < 10) return;
  std::fputs((bar_ ? "\r\x1b[K" + Line(done, since_begin) : Line(done, since_begin) + "\n").c_str(), stderr);
  std::fflush(stderr);
  last_shown_ = now;
  shown_ = true;
}

void CatchInterrupt() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool Interrupted() {
  return interrupted.load();
}

}  // namespace attend::cli
