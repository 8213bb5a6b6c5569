// The entry module of every page. Pages work without it; it makes them livelier.
import "./pristine.js";
import "./theme.js";
import "./time.js";
import "./dialog.js";
import "./copy.js";
import "./entered.js";
import "./filter.js";
import "./once.js";
import "./scroll.js";
import "./live.js";
