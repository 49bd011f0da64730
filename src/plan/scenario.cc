#include "plan/scenario.h"

#include <fmt/format.h>

#include "formats/device_profile.h"
#include "formats/presets.h"
#include "plan/budget.h"
#include "plan/number_text.h"

namespace attend {
namespace {

constexpr int64_t kContractTokens = 128'000;
constexpr int64_t kPieces = 8;
constexpr int64_t kRounds = 3;
constexpr double kGb = 1e9;

const KvFormat kFp16 = KvFormat::Both(DType::kF16);

Result<ModelShape> Named(const char* name) {
  return ReadPreset(*FindPreset(name));
}

Result<DeviceProfile> Card(const char* name) {
  return ReadDeviceProfile(FindDevicePreset(name)->json, name);
}

// Nothing beside the contract: the figures are the case's to the digit.
PlanRequest RequestOn(const DeviceProfile& card, const ModelShape& model, double review_minutes) {
  PlanRequest r;
  r.footprint = MakeFootprint(model);
  r.document_tokens = kContractTokens;
  r.question_tokens = r.answer_tokens = 0;
  r.kv_format = kFp16;
  r.memory_limit_bytes = card.memory_bytes;
  r.calibration = SpeedsOf(card, r.compute);
  r.review_minutes = review_minutes;
  return r;
}

class LawFirm {
 public:
  LawFirm(ModelShape model, ModelShape mha, const DeviceProfile& card, double review_minutes)
      : model_(std::move(model)),
        mha_(std::move(mha)),
        speeds_(SpeedsOf(card, Compute::kBf16)),
        review_minutes_(review_minutes),
        kv_bytes_(static_cast<double>(model_.KvBytes(kFp16, kContractTokens))),
        weights_bytes_(static_cast<double>(MakeFootprint(model_).weights_bytes)) {}

  std::vector<ScenarioRow> Rows() const {
    std::vector<ScenarioRow> rows;
    AddMemory(rows);
    AddWork(rows);
    AddRounds(rows);
    AddDecode(rows);
    AddTotal(rows);
    return rows;
  }

  std::string BothSides() const {
    const double saved = Whole() - InPieces();
    return fmt::format(
        "Pieces save {:.0f} s a pass ({:.0f} s over {} rounds read anew; {:.0f} s over one prefill) and cost a person "
        "{:.0f} "
        "minutes: one pass wherever it fits.",
        saved, kRounds * saved, kRounds, saved, review_minutes_);
  }

 private:
  // Seconds of attention, the masked half counted too, as the case is published.
  double Whole() const { return model_.UnmaskedAttentionFlops(kContractTokens) / speeds_.attention_flops_per_s; }
  double InPieces() const {
    return kPieces * model_.UnmaskedAttentionFlops(kContractTokens / kPieces) / speeds_.attention_flops_per_s;
  }
  double Linear() const { return 2 * model_.Parameters() * kContractTokens / speeds_.linear_flops_per_s; }

  void AddMemory(std::vector<ScenarioRow>& rows) const {
    const double token = static_cast<double>(model_.KvBytesPerToken(kFp16));
    const double mha = static_cast<double>(mha_.KvBytes(kFp16, kContractTokens));
    const double scores = 40.0 * kContractTokens * kContractTokens * 2;
    rows.push_back({"KV per token, 8 KV heads, fp16",
                    Grouped(static_cast<int64_t>(token)) + " B",
                    "2 * layers * kv_heads * head_dim * bytes",
                    {token}});
    rows.push_back({"KV of 128,000 tokens: GQA-8 / MHA-40",
                    fmt::format("{:.2f} GB / {:.1f} GB", kv_bytes_ / kGb, mha / kGb),
                    "MHA does not fit in 80 GB",
                    {kv_bytes_, mha}});
    rows.push_back({"score matrix if it were built (one layer)",
                    fmt::format("{:.2f} TB", scores / 1e12),
                    "40 * T^2 * 2 B; never built here",
                    {scores}});
  }

  void AddWork(std::vector<ScenarioRow>& rows) const {
    const double attention = model_.UnmaskedAttentionFlops(kContractTokens);
    const double linear = 2 * model_.Parameters() * kContractTokens;
    rows.push_back({"attention work, all layers",
                    fmt::format("{:.3g} FLOP, {:.0f} s; {:.0f} s causal", attention, Whole(), Whole() / 2),
                    "4 T^2 D L at an effective 100 TFLOP/s; the plan counts the causal half",
                    {attention, Whole(), Whole() / 2}});
    rows.push_back({"linear layers",
                    fmt::format("{:.3g} FLOP, {:.0f} s", linear, Linear()),
                    "2 * parameters * T; the same for one pass and for pieces",
                    {linear, Linear()}});
    rows.push_back({"prefill, one pass / 8 pieces: attention alone",
                    fmt::format("{:.0f} s / {:.1f} s", Whole(), InPieces()),
                    "as published",
                    {Whole(), InPieces()}});
    rows.push_back({"  with the linear layers",
                    fmt::format("{:.0f} s / {:.0f} s", Whole() + Linear(), InPieces() + Linear()),
                    "the same, plus the line before",
                    {Whole() + Linear(), InPieces() + Linear()}});
    rows.push_back({"  causal half counted",
                    fmt::format("{:.0f} s / {:.0f} s", Whole() / 2 + Linear(), InPieces() / 2 + Linear()),
                    "what the plan's times use",
                    {Whole() / 2 + Linear(), InPieces() / 2 + Linear()}});
  }

  void AddRounds(std::vector<ScenarioRow>& rows) const {
    const double attention = kRounds * Whole(), all = kRounds * (Whole() + Linear()), saved = Whole() - InPieces();
    rows.push_back(
        {"three rounds, each prefilled anew",
         fmt::format("{:.1f} s attention alone, {:.1f} s in all", attention, all),
         fmt::format("extract, verify, draft; we prefill once and fork: {:.0f} s and the answers", all / kRounds),
         {attention, all, all / kRounds}});
    rows.push_back({"what decides",
                    fmt::format("pieces save {:.0f} s a pass ({:.0f} s over three rounds)", saved, kRounds * saved),
                    fmt::format("and cost a person {:.0f} minutes of checking", review_minutes_),
                    {saved, kRounds * saved, review_minutes_ * 60}});
  }

  void AddDecode(std::vector<ScenarioRow>& rows) const {
    const double kv_s = kv_bytes_ / speeds_.kv_bytes_per_s, all_s = kv_s + weights_bytes_ / speeds_.weight_bytes_per_s;
    rows.push_back({"decode, the cache alone / with the weights",
                    fmt::format("{:.1f} ms, {:.0f} tokens/s / {:.1f} ms, {:.0f} tokens/s", kv_s * 1e3, 1 / kv_s,
                                all_s * 1e3, 1 / all_s),
                    "bytes read a token / 2 TB/s",
                    {kv_s, all_s}});
  }

  void AddTotal(std::vector<ScenarioRow>& rows) const {
    const double total = weights_bytes_ + kv_bytes_;
    const double high = total + static_cast<double>(UnchunkedActivationBytes(model_, kContractTokens));
    rows.push_back({"weights",
                    fmt::format("{:.1f} GB", weights_bytes_ / kGb),
                    "13e9 parameters are stated, 2 B each",
                    {weights_bytes_}});
    rows.push_back({"total",
                    fmt::format("{:.1f} GB, to {:.1f} GB", total / kGb, high / kGb),
                    "weights + cache exactly, to the activations of an unchunked pass (50-60 GB published)",
                    {total, high}});
  }

  ModelShape model_, mha_;
  Calibration speeds_;
  double review_minutes_, kv_bytes_, weights_bytes_;
};

}  // namespace

Result<Scenario> LawFirmScenario(double review_minutes) {
  ATTEND_ASSIGN_OR_RETURN(const ModelShape model, Named("law-firm-13b"));
  ATTEND_ASSIGN_OR_RETURN(const ModelShape mha, Named("law-firm-13b-mha"));
  ATTEND_ASSIGN_OR_RETURN(const DeviceProfile large, Card("law-firm-card-80gb"));
  ATTEND_ASSIGN_OR_RETURN(const DeviceProfile small, Card("law-firm-card-40gb"));
  const LawFirm firm(model, mha, large, review_minutes);
  Scenario scenario{
      .story =
          "A law firm's merger contract: 320 pages, 128,000 tokens, a 13B model (40 layers, 40 query heads of 128, "
          "8 KV heads) in fp16, one card with 2 TB/s and an effective 100 TFLOP/s. One pass, or 8 pieces "
          "of 16,000?",
      .rows = firm.Rows(),
      .decisions = {},
      .both_sides = firm.BothSides()};
  PlanRequest fixed = RequestOn(small, model, review_minutes);
  fixed.piece_tokens = kContractTokens / kPieces;
  const std::pair<const char*, PlanRequest> situations[] = {
      {"80 GB card", RequestOn(large, model, review_minutes)},
      {"40 GB card, fp16 cache and pieces of 16,000 fixed", std::move(fixed)},
      {"40 GB card, free choice", RequestOn(small, model, review_minutes)}};
  for (const auto& [situation, request] : situations) {
    ATTEND_ASSIGN_OR_RETURN(Plan plan, MakePlan(request));
    scenario.decisions.push_back({situation, std::move(plan)});
  }
  return scenario;
}

}  // namespace attend
