package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// copied is a file or an empty folder of the image.
type copied struct {
	from, to string
	mode     int64 // 0: as it is
	uid, gid int
}

// config is what an image says about the process that is started from it, in the words of the OCI; Healthcheck is
// Docker's.
type config struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
	Labels       map[string]string   `json:",omitempty"`
	Healthcheck  *healthcheck        `json:",omitempty"`
}

type healthcheck struct {
	Test        []string
	Interval    time.Duration `json:",omitempty"`
	Timeout     time.Duration `json:",omitempty"`
	StartPeriod time.Duration `json:",omitempty"`
	Retries     int           `json:",omitempty"`
}

// stage is what the last stage of a Dockerfile says.
type stage struct {
	files  []copied
	config config
}

// lastStage reads the stage that begins with FROM scratch. It knows the few instructions that the Dockerfile of this
// project has there, and refuses others: an image must not differ by who has built it.
func lastStage(dockerfile string) (*stage, error) {
	_, text, ok := strings.Cut(dockerfile, "\nFROM scratch\n")
	if !ok {
		return nil, fmt.Errorf("there is no stage FROM scratch")
	}
	s := &stage{config: config{
		ExposedPorts: map[string]struct{}{}, Volumes: map[string]struct{}{}, Labels: map[string]string{},
	}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		instruction, rest, _ := strings.Cut(line, " ")
		if err := s.instruction(instruction, strings.TrimSpace(rest)); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
	}
	return s, nil
}

func (s *stage) instruction(name, rest string) error {
	switch name {
	case "COPY":
		return s.copy(strings.Fields(rest))
	case "ENV":
		s.config.Env = append(s.config.Env, strings.Fields(rest)...)
	case "LABEL":
		for _, pair := range strings.Fields(rest) {
			key, value, _ := strings.Cut(pair, "=")
			s.config.Labels[key] = strings.Trim(value, `"`)
		}
	case "USER":
		s.config.User = rest
	case "WORKDIR":
		s.config.WorkingDir = rest
	case "EXPOSE":
		s.config.ExposedPorts[rest+"/tcp"] = struct{}{}
	case "VOLUME":
		var paths []string
		if err := json.Unmarshal([]byte(rest), &paths); err != nil {
			return err
		}
		for _, path := range paths {
			s.config.Volumes[path] = struct{}{}
		}
	case "ENTRYPOINT":
		return json.Unmarshal([]byte(rest), &s.config.Entrypoint)
	case "CMD":
		return json.Unmarshal([]byte(rest), &s.config.Cmd)
	case "HEALTHCHECK":
		return s.healthcheck(rest)
	default:
		return fmt.Errorf("this instruction is not known here")
	}
	return nil
}

func (s *stage) copy(words []string) error {
	var c copied
	var paths []string
	built := false
	for _, word := range words {
		name, value, flag := strings.Cut(word, "=")
		var err error
		switch {
		case !flag || !strings.HasPrefix(word, "--"):
			paths = append(paths, word)
		case name == "--from":
			built = value == "build"
		case name == "--chmod":
			c.mode, err = strconv.ParseInt(value, 8, 64)
		case name == "--chown":
			_, err = fmt.Sscanf(value, "%d:%d", &c.uid, &c.gid)
		default:
			err = fmt.Errorf("the flag %s is not known here", name)
		}
		if err != nil {
			return err
		}
	}
	if !built || len(paths) != 2 {
		return fmt.Errorf("want COPY --from=build SOURCE DESTINATION")
	}
	c.from, c.to = paths[0], paths[1]
	s.files = append(s.files, c)
	return nil
}

func (s *stage) healthcheck(rest string) error {
	flags, command, ok := strings.Cut(rest, "CMD ")
	if !ok {
		return fmt.Errorf("there is no CMD")
	}
	h := &healthcheck{}
	for _, word := range strings.Fields(flags) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "--interval":
			h.Interval, err = time.ParseDuration(value)
		case "--timeout":
			h.Timeout, err = time.ParseDuration(value)
		case "--start-period":
			h.StartPeriod, err = time.ParseDuration(value)
		case "--retries":
			h.Retries, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("the flag %s is not known here", name)
		}
		if err != nil {
			return err
		}
	}
	var words []string
	if err := json.Unmarshal([]byte(command), &words); err != nil {
		return err
	}
	h.Test = append([]string{"CMD"}, words...)
	s.config.Healthcheck = h
	return nil
}
