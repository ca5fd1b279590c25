/* Words of the textual loop IR that both its printer and its reader use; each list ends with NULL. */
#ifndef TSR_LOOP_WORDS_H
#define TSR_LOOP_WORDS_H

extern const char *const tsr_loop_buffer_words[];       /* by tsr_buffer_kind */
extern const char *const tsr_loop_for_words[];          /* by tsr_for_kind */
#endif
