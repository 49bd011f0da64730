// attend plan --plot: memory and time against the document's length, with the cliffs marked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "attend/plan_command.h"
#include "attend/plan_sweep.h"
#include "plan/number_text.h"

namespace attend::cli {
namespace {

constexpr double kWidth = 760, kPanelHeight = 300, kLeft = 90, kRight = 24, kTop = 48, kBottom = 48;
constexpr int kPoints = 160;
// Told apart by people who do not see all colours (Okabe and Ito).
constexpr const char* kBlue = "#0072B2";
constexpr const char* kOrange = "#E69F00";
constexpr const char* kGrey = "#666666";

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

// A length between the first and the last, and a value up to the largest, as places in the picture.
struct Panel {
  double top = 0, first_tokens = 1, last_tokens = 1, largest = 1;

  double X(double tokens) const {
    const double span = std::log(last_tokens / first_tokens);
    return kLeft + (kWidth - kLeft - kRight) * (span > 0 ? std::log(tokens / first_tokens) / span : 0);
  }
  double Y(double value) const {
    return top + kPanelHeight - kBottom - (kPanelHeight - kBottom - kTop) * value / largest;
  }
};

struct Series {
  const char* name;
  const char* colour;
  std::vector<std::pair<double, double>> points;  // tokens, value
};

// 1, 2 or 5 times a power of ten, so that at most six lines fit.
double TickStep(double largest) {
  const double power = std::pow(10, std::floor(std::log10(largest / 6)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (largest / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
}

std::string Frame(const Panel& panel, const std::string& title, const std::string& unit) {
  std::string svg =
      fmt::format("<text x=\"{}\" y=\"{:.0f}\" class=\"title\">{}</text>\n", kLeft, panel.top + 24, Escaped(title));
  const double step = TickStep(panel.largest);
  for (double value = 0; value <= panel.largest * 1.0001; value += step) {
    const double y = panel.Y(value);
    svg += fmt::format(
        "<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" class=\"grid\"/>"
        "<text x=\"{}\" y=\"{:.1f}\" class=\"tick\" text-anchor=\"end\">{:g} {}</text>\n",
        kLeft, y, kWidth - kRight, y, kLeft - 6, y + 4, value, unit);
  }
  for (double tokens = std::pow(2, std::ceil(std::log2(panel.first_tokens))); tokens <= panel.last_tokens;
       tokens *= 4) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" class=\"tick\" text-anchor=\"middle\">{}</text>\n",
                       panel.X(tokens), panel.top + kPanelHeight - kBottom + 18, Grouped(static_cast<int64_t>(tokens)));
  }
  return svg;
}

std::string Line(const Panel& panel, const Series& series, int row) {
  std::string points;
  for (const auto& [tokens, value] : series.points)
    points += fmt::format("{:.1f},{:.1f} ", panel.X(tokens), panel.Y(value));
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n"
      "<text x=\"{}\" y=\"{:.0f}\" fill=\"{}\" class=\"tick\">{}</text>\n",
      points, series.colour, kLeft + 8, panel.top + kTop + 6 + 16 * row, series.colour, Escaped(series.name));
}

std::string Cliff(const Panel& panel, double tokens, const std::string& what) {
  const double x = panel.X(tokens);
  return fmt::format(
      "<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"{3}\" stroke-dasharray=\"4 3\"/>"
      "<text x=\"{4:.1f}\" y=\"{5:.0f}\" class=\"tick\" text-anchor=\"end\">{6}</text>\n",
      x, panel.top + kTop, panel.top + kPanelHeight - kBottom, kGrey, x - 4, panel.top + kPanelHeight - kBottom - 8,
      Escaped(what));
}

std::string CliffText(const Plan& p) {
  if (p.verdict == Verdict::kRefused) return "refused: " + std::string(NameOf(p.limit));
  return p.verdict == Verdict::kOnePass ? "one pass" : fmt::format("pieces: {}", NameOf(p.limit));
}

double LargestOf(const std::vector<Series>& all) {
  double largest = 0;
  for (const Series& series : all) {
    for (const auto& point : series.points) largest = std::max(largest, point.second);
  }
  return largest > 0 ? largest * 1.05 : 1;
}

std::string DrawPanel(double top, const std::string& title, const std::string& unit, const std::vector<Series>& all,
                      const std::vector<SweptPlan>& plans) {
  const Panel panel{.top = top,
                    .first_tokens = static_cast<double>(plans.front().tokens),
                    .last_tokens = static_cast<double>(plans.back().tokens),
                    .largest = LargestOf(all)};
  std::string svg = Frame(panel, title, unit);
  int row = 0;
  for (const Series& series : all) svg += Line(panel, series, row++);
  for (size_t i = 1; i < plans.size(); ++i) {
    if (CliffText(plans[i].plan) == CliffText(plans[i - 1].plan)) continue;
    svg += Cliff(panel, static_cast<double>(plans[i].tokens), CliffText(plans[i].plan) + " →");
  }
  return svg;
}

std::string DrawPlans(const std::vector<SweptPlan>& plans, const std::string& title) {
  Series needed{"needed", kBlue, {}}, usable{"usable", kGrey, {}}, prefill{"prefill", kBlue, {}},
      total{"with the answer", kOrange, {}};
  for (const auto& [tokens, p] : plans) {
    const double x = static_cast<double>(tokens);
    needed.points.push_back({x, static_cast<double>(p.memory.total_bytes) / 0x1p30});
    usable.points.push_back({x, static_cast<double>(p.memory.usable_bytes) / 0x1p30});
    if (!p.times) continue;
    prefill.points.push_back({x, p.times->prefill_s.expected});
    total.points.push_back({x, p.times->total_s.expected});
  }
  const bool has_times = !total.points.empty();
  const double height = kPanelHeight * (has_times ? 2 : 1) + 20;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n"
      "<style>text{{font-family:sans-serif;font-size:12px;fill:#222}}.title{{font-size:15px}}.tick{{font-size:11px}}"
      ".grid{{stroke:#ddd}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, height);
  svg += DrawPanel(0, title + ": memory against tokens", "GiB", {needed, usable}, plans);
  if (has_times) svg += DrawPanel(kPanelHeight, "time against tokens", "s", {total, prefill}, plans);
  return svg + "</svg>\n";
}

// By equal factors.
std::vector<int64_t> LengthsBetween(int64_t from, int64_t to) {
  std::vector<int64_t> lengths;
  const double last = static_cast<double>(to), first = static_cast<double>(from);
  for (int i = 0; i < kPoints; ++i) {
    const int64_t length = std::llround(first * std::pow(last / first, i / (kPoints - 1.0)));
    if (lengths.empty() || length > lengths.back()) lengths.push_back(length);
  }
  return lengths;
}

}  // namespace

Outcome RunPlanPlot(const PlanCommandOptions& options, const Planning& planning) {
  if (!options.plot.ends_with(".svg"))
    return tl::unexpected(UsageError("--plot", "a file that ends in .svg", options.plot));
  std::vector<int64_t> lengths =
      LengthsBetween(std::max<int64_t>(1, planning.document_tokens / 64), planning.document_tokens);
  if (!options.sweep.empty()) {
    ATTEND_ASSIGN_OR_RETURN(lengths, ParseLengths(options.sweep));
    std::sort(lengths.begin(), lengths.end());
    lengths = LengthsBetween(lengths.front(), lengths.back());
  }
  ATTEND_ASSIGN_OR_RETURN(const std::vector<SweptPlan> plans, Sweep(options, planning, lengths));
  ATTEND_ASSIGN_OR_RETURN(const ModelFootprint footprint, FootprintFor(planning.model, planning.policy));
  const ModelShape& model = footprint.shape;
  std::string title = model.name.empty() ? model.architecture : model.name;
  if (planning.device) title += " on " + planning.device->name;
  std::ofstream file(options.plot, std::ios::binary);
  file << DrawPlans(plans, title);
  file.close();
  if (!file) {
    return tl::unexpected(Error{.code = ErrorCode::kFileUnwritable,
                                .where = options.plot,
                                .subject = {},
                                .expected = "a file that can be written",
                                .found = "it cannot be",
                                .hint = {}});
  }
  fmt::print(stderr, "{}: {} lengths from {} to {} tokens\n", options.plot, plans.size(), Grouped(plans.front().tokens),
             Grouped(plans.back().tokens));
  return 0;
}

}  // namespace attend::cli
