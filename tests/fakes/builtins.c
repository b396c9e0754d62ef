/* builtins.c - a fake of the library that NVRTC opens by itself when it compiles. */
int fake_builtins;
