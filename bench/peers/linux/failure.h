/* Ends the guest with a message; the program that started it shows the last lines of its console. */
#ifndef FAILURE_H
#define FAILURE_H

__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);

/* The value of a system call, which must not fail. */
#define MUST(call) ({ \
    long must_value = (call); \
    if (must_value < 0) \
        fail("%s: %m", #call); \
    must_value; \
})

#endif
