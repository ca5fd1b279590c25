/* In a build with -DTSR_PLANT=n one rule is wrong, the one where TSR_PLANTED(n) stands: `make oracle-plants` shows that the
 * oracle finds each of them. */
#ifndef TSR_BASE_PLANT_H
#define TSR_BASE_PLANT_H

#ifndef TSR_PLANT
#define TSR_PLANT 0
#endif
#define TSR_PLANTED(n) (TSR_PLANT == (n))

#endif
