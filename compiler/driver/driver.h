/* The pipeline, from a command line to its result. */
#ifndef TSR_DRIVER_DRIVER_H
#define TSR_DRIVER_DRIVER_H
#include "options.h"

enum { TSR_EXIT_OK = 0, TSR_EXIT_MISTAKE = 1, TSR_EXIT_USAGE = 2, TSR_EXIT_FAULT = 70 };

/* Carries out one command; the exit status. */
int tsr_drive(const tsr_options *o);
#endif
