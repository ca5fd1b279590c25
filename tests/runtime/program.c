/* What the compiler emits for hello.tsr, written by hand: with FILES also what a program that reads an archive refers to,
 * with BAR a loop that shows its progress and prints. */
#include "../../runtime/tsr_abi.h"

static const int64_t two[] = {2};
static const tsr_buffer_info buffers[] = {{"y", two, NULL, 8, 1, 11, TSR_ROLE_TENSOR}};
static const tsr_program program = {"hello", NULL, 1, 1, 0, 0, buffers, NULL};

int main(int argc, char **argv)
{
	tsr_ctx *ctx = tsr_start(argc, argv, &program);
	float *y = tsr_buffers(ctx)[0];
	y[0] = 0;
	y[1] = 7.5f;
#ifdef FILES
	tsr_file_load(ctx, "hello.tsr:1:1", "y.npz", "y", &tsr_format_npz, 0);
#endif
#ifdef BAR
	for (int i = 1; i <= 3; i++) {
		tsr_progress(ctx, "step", i, 4);
		tsr_print_i64(ctx, i, 0, 0);
		tsr_print_str(ctx, "\n", 1);
	}
#endif
	tsr_print_tensor(ctx, "y", 11, 0, 1, 0, two, "2", y);
	return tsr_finish(ctx);
}
