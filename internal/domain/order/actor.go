package order

// ActorType says what kind of actor moved an order.
type ActorType string

// The actor types of an order's timeline.
const (
	ByAPIKey ActorType = "api-key"
	ByUser   ActorType = "user"
	ByStaff  ActorType = "staff"
	BySystem ActorType = "system"
)

// Actor is who moved an order.
type Actor struct {
	Type ActorType
	ID   string // empty for the system
	Name string
}

// System is the actor of what the service does by itself.
var System = Actor{Type: BySystem, Name: "system"}
