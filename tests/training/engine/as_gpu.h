// A processor that acts as a GPU: a thread for each of a block's threads, which wait for each other.
#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

struct dim3 {
  unsigned x, y;
  dim3(unsigned x, unsigned y = 1) : x(x), y(y) {}
};

class Barrier {
  std::mutex mutex;
  std::condition_variable all;
  unsigned threads, waiting = 0, round = 0;

 public:
  explicit Barrier(unsigned threads) : threads(threads) {}
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    const unsigned own = round;
    if (++waiting == threads) {
      waiting = 0, round++;
      all.notify_all();
    } else {
      all.wait(lock, [&] { return round != own; });
    }
  }
};

static thread_local dim3 threadIdx(0, 0), blockIdx(0, 0), gridDim(0, 0);
static thread_local void* fast_memory;
static thread_local Barrier *of_warp, *of_block;

#define KERNEL static
#define OF_FEW_WARPS
#define SYNC() of_warp->wait()
#define SYNC_ALL() of_block->wait()
#define SHARED(memory) double* memory = (double*)fast_memory

template <class Act>
static int launched(dim3 grid, unsigned threads, int64_t bytes, Act act) {
  for (unsigned block = 0; block < grid.x * grid.y; block++) {
    std::vector<double> memory(bytes / 8 + 1, __builtin_nan(""));
    Barrier whole(threads);
    std::vector<Barrier*> warps;
    for (unsigned k = 0; k < threads; k += 32) warps.push_back(new Barrier(std::min(32u, threads)));
    std::vector<std::thread> all;
    for (unsigned k = 0; k < threads; k++)
      all.emplace_back([&, k] {
        threadIdx.x = k, blockIdx.x = block % grid.x, blockIdx.y = block / grid.x, gridDim = grid;
        fast_memory = memory.data(), of_warp = warps[k / 32], of_block = &whole;
        act();
      });
    for (std::thread& one : all) one.join();
    for (Barrier* one : warps) delete one;
  }
  return 0;
}
#define LAUNCH(kernel, grid, block, bytes, stream, ...) \
  launched(grid, block, bytes, [&] { kernel(__VA_ARGS__); })
