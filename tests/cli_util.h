// Runs the command line as a user does and collects what it printed.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace attend {

struct CliResult {
  int status = -1;  // exit status, or -1 when it did not exit by itself
  std::string out;
  std::string err;
};

// A folder of its own for one test, gone with it. Commands run here have it as HOME, so no model or file of the user is
// seen.
class CliFolder {
 public:
  CliFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attend-cli-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~CliFolder() { std::filesystem::remove_all(path_); }
  CliFolder(const CliFolder&) = delete;
  CliFolder& operator=(const CliFolder&) = delete;

  std::string Path(const std::string& name) const { return (path_ / name).string(); }

  template <typename Bytes>
  std::string Write(const std::string& name, const Bytes& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(std::data(content)), static_cast<std::streamsize>(std::size(content)));
    return Path(name);
  }

  // `environment` is added to HOME and PATH; nothing else is passed on but the sanitizers' options.
  CliResult Run(const std::vector<std::string>& arguments,
                const std::vector<std::pair<std::string, std::string>>& environment = {}) const {
    std::string command = Quoted(ATTEND_CLI);
    for (const std::string& argument : arguments) command += " " + Quoted(argument);
    return Execute(command, environment);
  }

  // A script of sh, in which $ATTEND is the program; its standard error may be read at $ERRORS while it runs.
  CliResult RunScript(const std::string& script,
                      std::vector<std::pair<std::string, std::string>> environment = {}) const {
    environment.insert(environment.end(), {{"ATTEND", ATTEND_CLI}, {"ERRORS", Path("stderr")}});
    return Execute("sh -c " + Quoted(script), environment);
  }

 private:
  CliResult Execute(const std::string& command,
                    const std::vector<std::pair<std::string, std::string>>& environment) const {
    std::string line = "env -i PATH=/usr/bin:/bin HOME=" + Quoted(path_.string());
    for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
      if (const char* value = std::getenv(name)) line += std::string(" ") + name + "=" + Quoted(value);
    }
    for (const auto& [name, value] : environment) line += " " + name + "=" + Quoted(value);
    line += " " + command + " </dev/null >" + Quoted(Path("stdout")) + " 2>" + Quoted(Path("stderr"));
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(Path("stdout")), Slurp(Path("stderr"))};
  }

  static std::string Quoted(const std::string& text) {
    std::string quoted = "'";
    for (char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
  }

  static std::string Slurp(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::filesystem::path path_;
};

}  // namespace attend
