// A library that a program opens.
int shared;

void poke(void) {
    shared++; // line 5
}
