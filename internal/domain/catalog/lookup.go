package catalog

// Category returns the category with the code, or nil.
func (s *Snapshot) Category(code string) *Category { return s.category[code] }

// Brand returns the brand with the code, or nil.
func (s *Snapshot) Brand(code string) *Brand { return s.brand[code] }

// Model returns the model with the code, or nil.
func (s *Snapshot) Model(code string) *Model { return s.model[code] }
