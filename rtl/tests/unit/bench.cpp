// The bench of a unit: drives a model of `unit_bench` with the groups of beats on standard input and
// compares what comes out. A group is two 32-bit counts, of beats in and of beats out, and these beats;
// a beat is 256 bits. All numbers are little-endian.
//   bench [SEED]   with a seed, random gaps at the input and, if the unit can wait, stalls at the output
// Exit status 0 when every beat agreed; a line says how much was compared.
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "Vunit_bench.h"
#include "verilated.h"

namespace {

constexpr int kWords = 8;                 // 32-bit words of a beat
constexpr std::uint64_t kPatience = 100000;  // cycles without a beat in or out

struct Beat {
  std::uint32_t word[kWords];
};

struct Random {  // xorshift64
  std::uint64_t state;
  bool one_in(unsigned n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 33) % n == 0;
  }
};

bool read_beats(std::vector<Beat>& beats, std::uint32_t count) {
  beats.resize(count);
  return count == 0 || std::fread(beats.data(), sizeof(Beat), count, stdin) == count;
}

void print(const char* what, const std::uint32_t* word) {
  std::fprintf(stderr, "  %s", what);
  for (int i = kWords - 1; i >= 0; i--) std::fprintf(stderr, " %08" PRIx32, word[i]);
  std::fprintf(stderr, "\n");
}

}  // namespace

int main(int argc, char** argv) {
  const bool stalls = argc > 1;
  Random random{stalls ? std::strtoull(argv[1], nullptr, 10) * 2 + 1 : 1};
  const auto context = std::make_unique<VerilatedContext>();
  const auto model = std::make_unique<Vunit_bench>(context.get());
  std::uint64_t cycles = 0, groups = 0, compared = 0;

  const auto edge = [&] {  // inputs have been set and the model evaluated
    model->clk = 1;
    model->eval();
    model->clk = 0;
    cycles++;
  };
  model->clk = 0;
  model->in_valid = 0;
  model->out_ready = 0;
  model->rst = 1;
  for (int i = 0; i < 4; i++) {
    model->eval();
    edge();
  }
  model->rst = 0;

  std::vector<Beat> in, out;
  std::uint32_t counts[2];
  while (std::fread(counts, sizeof counts, 1, stdin) == 1) {
    if (!read_beats(in, counts[0]) || !read_beats(out, counts[1])) {
      std::fprintf(stderr, "bench: the input ends within a group\n");
      return 2;
    }
    std::size_t sent = 0, received = 0;
    bool offered = false;
    std::uint64_t last_beat = cycles;
    while (sent < in.size() || received < out.size()) {
      // What has been offered stays until it is taken.
      offered = sent < in.size() && (offered || !stalls || !random.one_in(3));
      model->in_valid = offered;
      if (offered) std::memcpy(model->in_data.data(), in[sent].word, sizeof(Beat));
      model->out_ready = !stalls || !model->can_wait || !random.one_in(3);
      model->eval();
      if (offered && model->in_ready) {
        sent++;
        offered = false;
        last_beat = cycles;
      }
      if (model->out_valid && model->out_ready) {
        if (received == out.size()) {
          std::fprintf(stderr, "bench: group %" PRIu64 ": more than %zu beats\n", groups, out.size());
          print("got     ", model->out_data.data());
          return 1;
        }
        if (std::memcmp(model->out_data.data(), out[received].word, sizeof(Beat)) != 0) {
          std::fprintf(stderr, "bench: group %" PRIu64 ", beat %zu, cycle %" PRIu64 "\n", groups,
                       received, cycles);
          print("expected", out[received].word);
          print("got     ", model->out_data.data());
          return 1;
        }
        received++;
        last_beat = cycles;
      }
      edge();
      if (cycles - last_beat > kPatience) {
        std::fprintf(stderr, "bench: group %" PRIu64 ": stuck after %zu beats in and %zu out\n", groups,
                     sent, received);
        return 1;
      }
    }
    groups++;
    compared += received;
  }
  if (compared == 0) {
    std::fprintf(stderr, "bench: nothing was compared\n");
    return 2;
  }
  std::printf("%" PRIu64 " groups, %" PRIu64 " beats compared, %" PRIu64 " cycles\n", groups, compared,
              cycles);
  return 0;
}
