/* The limit: posix_spawn /bin/true and wait for it, COUNT times, WIDTH at a time, on the first CORES cores that we may use.
   Prints the seconds it took. Whatever else a job system does comes on top of this. */
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static void stay_on(int cores)
{
    cpu_set_t allowed, chosen;
    CPU_ZERO(&chosen);
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        exit(2);
    for (int cpu = 0; cpu < CPU_SETSIZE && cores > 0; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &chosen);
            cores--;
        }
    if (cores > 0 || sched_setaffinity(0, sizeof chosen, &chosen)) {
        fprintf(stderr, "there are not so many cores here\n");
        exit(2);
    }
}

static void spawn(void)
{
    char *words[] = {"true", NULL};
    pid_t pid;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ)) {
        fprintf(stderr, "/bin/true cannot be started\n");
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: spawn_loop COUNT WIDTH CORES\n");
        return 2;
    }
    int count = atoi(argv[1]), width = atoi(argv[2]), begun = 0, status;
    stay_on(atoi(argv[3]));
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (; begun < count && begun < width; begun++)
        spawn();
    for (int ended = 0; ended < count; ended++) {
        if (wait(&status) < 0 || status)
            return 1;
        if (begun < count) {
            spawn();
            begun++;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.6f\n", (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
    return 0;
}
