// Where output goes and how it may look: stdout carries the result, stderr everything else. Colour only on a terminal
// and without NO_COLOR; a progress bar only on a terminal, plain lines every 10 s when piped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace attend::cli {

bool StdoutIsTerminal();
bool StderrIsTerminal();
bool UseColour();  // for stdout

// "\x1b[1m...": the text in bold or dim where colour is used, else as it is.
std::string Bold(std::string_view text);
std::string Dim(std::string_view text);

// Counts towards a total on stderr: phase, done/total, rate, time left. Shows nothing in the first second.
class Progress {
 public:
  Progress(std::string phase, std::string unit, int64_t total, bool enabled);
  ~Progress();
  void Update(int64_t done);

 private:
  using Clock = std::chrono::steady_clock;
  std::string Line(int64_t done, double seconds) const;

  std::string phase_, unit_;
  int64_t total_;
  bool enabled_, bar_;
  Clock::time_point begin_, last_shown_;
  bool shown_ = false;
};

// First Ctrl-C: Interrupted() turns true and work stops at the next step, keeping what is done. Second: the program
// ends.
void CatchInterrupt();
bool Interrupted();

}  // namespace attend::cli
