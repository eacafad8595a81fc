/* Opens a plugin like Python opens extension modules: fftw_host PLUGIN. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  double (*error)(void) = plugin == NULL ? NULL : (double (*)(void))dlsym(plugin, "plugin_error");
  if (error == NULL) {
    printf("FAILED %s\n", dlerror());
    return 1;
  }
  const int good = error() < 1e-14;
  printf("%s\n", good ? "right" : "FAILED");
  int (*count)(const char*) = (int (*)(const char*))dlsym(RTLD_DEFAULT, "ob_standin_count");
  if (count != NULL) {
    printf("count decide=%d ahead=%d execute=%d local=%d\n", count("decide"), count("ahead"),
           count("execute"), count("local"));
  }
  return good ? 0 : 1;
}
