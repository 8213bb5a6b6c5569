package access

import "testing"

func TestGuessable(t *testing.T) {
	context := []string{"hana.suzuki@boutique-ginza.example", "Hana Suzuki", "Ginza Boutique"}
	for _, bad := range []string{
		"passwordpassword", "aaaaaaaaaaaa", "123456789012", "Password1234!", "P@ssw0rd2026!", "qwertyuiop12", "1qaz2wsx3edc",
		"abcdefghijkl", "zyxwvutsrqpo", "iloveyou12345", "Welcome2026!!", "administrator", "letmein12345", "changeme2026",
		"hana.suzuki@boutique-ginza.example", "HanaSuzuki2026", "boutiqueginza1", "Assay2026!!!!", "assaypassword",
		"qwertyqwerty", "Summer2026!Summer", "111222333444", "............", "sunshine!sunshine", "manchesterunited1",
		"unbelievable", "passwordadmin!", "asdfghjkl;'12",
	} {
		if !Guessable(bad, context...) {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, good := range []string{
		"correct horse battery", "another long password", "a password of my own", "Tr0ub4dor&3-xkcd", "kq7!vPz2#mWx9",
		"ginza line to ueno at dawn", "パスワードは長いほうがよい", "3f9a1c77e0b24d55", "my cat eats 7 yuzu",
	} {
		if Guessable(good, context...) {
			t.Errorf("%q is refused", good)
		}
	}
	if !Guessable("hana") || !Guessable("") {
		t.Error("short ones are guessable, too")
	}
	for range 100 {
		if p := NewPassword(); Guessable(p, context...) {
			t.Errorf("the program's own password %q is refused", p)
		}
	}
}

func FuzzGuessable(f *testing.F) {
	f.Add("Password1234!", "hana@acme.example")
	f.Add("\xff\x00日本", "")
	f.Fuzz(func(_ *testing.T, password, context string) { Guessable(password, context) })
}
