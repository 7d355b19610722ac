/* The layout that tests/compiled.rs links for: other places, sizes and bits than the program was compiled with. */
enum state { OPEN = 1 };

struct sock {
	unsigned long long before[3];
	unsigned long long widened;
	long long signed_one;
	unsigned int high : 9;
	unsigned int bits : 5;
	unsigned int moved;
	union {
		struct {
			unsigned int inner;
		};
	};
};

struct sock a_sock;
enum state a_state;
