package access

// Person is somebody who signs in through a browser: an account user or a staff user. How they sign in is the same.
type Person struct {
	Audience     Audience
	ID           string
	AccountID    string // of an account user
	Email        string
	Name         string // as others see it; account users have nothing but their email
	PasswordHash string
	Active       bool // may sign in

	actor Actor
}

// Actor returns the person as an actor.
func (p *Person) Actor(from Origin) Actor {
	by := p.actor
	by.Origin = from
	return by
}

// Person returns what signing in needs to know of the user.
func (u *User) Person() *Person {
	return &Person{
		Audience: Portal, ID: u.ID, AccountID: u.AccountID, Email: u.Email, Name: u.Email,
		PasswordHash: u.PasswordHash, Active: true, actor: u.Actor("", Origin{}),
	}
}

// Person returns what signing in needs to know of the staff user.
func (s *Staff) Person() *Person {
	return &Person{
		Audience: Desk, ID: s.ID, Email: s.Email, Name: s.Name,
		PasswordHash: s.PasswordHash, Active: s.Active(), actor: s.Actor(Origin{}),
	}
}
