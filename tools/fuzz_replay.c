// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over the files of folders, without libFuzzer: the committed corpora as tests.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fuzz.h"

// Targets with mutators of their own call it; nothing mutates here.
size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size) {
  (void)data;
  return size < max_size ? size : max_size;
}

static int replay(const char* path) {
  FILE* file = fopen(path, "rb");
  struct stat info;
  if (!file || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
    if (file) fclose(file);
    return 0;
  }
  size_t size = (size_t)info.st_size;
  uint8_t* data = malloc(size ? size : 1);  // of this size, for sanitizers to see its end
  int count = data && fread(data, 1, size, file) == size;
  fclose(file);
  if (count) {
    printf("%s\n", path);
    fflush(stdout);  // names the input at fault if it ends the process
    LLVMFuzzerTestOneInput(data, size);
  }
  free(data);
  return count;
}

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    DIR* folder = opendir(argv[i]);
    if (!folder) continue;
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
      count += replay(path);
    }
    closedir(folder);
  }
  fprintf(stderr, "%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
