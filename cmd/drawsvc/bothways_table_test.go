package main

// bothWays are commands in their order, each run on a database and over HTTP on
// an equal one. In a line @NAME is a file of the test.
func bothWays() []struct {
	line string
	code int
	part string // of what is printed, or of the message
} {
	const spring = "pool create spring --name '' --state paused --mode optimistic"
	return []struct {
		line string
		code int
		part string
	}{
		{"pool list", exitOK, "mono"},
		{spring + " --prize id=gold,name=金貨,value=19.90,stock=10 --prize id=none,kind=blank --prize id=silver,stock=5 --rules @rules", exitOK, "pool spring is made and paused: prizes 3, units 15"},
		{spring, exitFailure, `there is a pool "spring"`},
		{"pool create summer", exitOK, "prizes 0"},
		{"pool create autumn --prize id=gold,stock=1 --rules @rules", exitUsage, "none"},
		{"pool list", exitOK, "summer"},
		{"pool list --output json", exitOK, `"next":null`},
		{"pool show spring", exitOK, "endless"},
		{"pool show spring --output json", exitOK, `"stocked":null`},
		{"pool show nowhere", exitFailure, `there is no pool "nowhere"`},
		{"pool open spring --if-revision 1", exitFailure, "revision"},
		{"pool open spring --if-revision 5", exitOK, "pool spring is open"},
		{"pool pause spring", exitOK, "pool spring is paused"},
		{"pool open spring", exitOK, "pool spring is open"},
		{"pool rename spring --name Frühling", exitOK, `pool spring has the name "Frühling"`},
		{"pool rename spring --name=", exitUsage, "name"},
		{"pool archive spring", exitFailure, "closed"},
		{"pool close nowhere", exitFailure, `there is no pool "nowhere"`},
		{"pool close summer", exitOK, "pool summer is closed"},
		{"pool open summer", exitFailure, "closed"},
		{"pool delete mono", exitFailure, "issued"},
		{"pool delete summer", exitOK, "pool summer is deleted"},
		{"pool show summer", exitFailure, `there is no pool "summer"`},

		{"prize add --pool spring --prize id=tin,name=Tin,value=0.50,stock=40", exitOK, "40 stocked"},
		{"prize add --pool spring --prize id=dud,kind=blank", exitOK, "endless stocked"},
		{"prize add --pool spring --prize id=tin,stock=1", exitFailure, "tin"},
		{"prize add --pool nowhere --prize id=tin,stock=1", exitFailure, "nowhere"},
		{"prize rename --pool spring --prize tin --name Zinn --value 0.75", exitOK, `name "Zinn", value 0.75`},
		{"prize rename --pool mono --prize gold --name Lead", exitFailure, "issued"},
		{"prize rename --pool spring --prize lead --name Lead", exitFailure, "lead"},

		{"stock add --pool spring --prize tin --delta 2 --reason more", exitOK, "+2 units made 42 stocked"},
		{"stock add --pool spring --prize tin --delta 1 --reason more --key k-1", exitOK, "43 stocked"},
		{"stock add --pool spring --prize tin --delta 1 --reason more --key k-1", exitOK, "this key was used already"},
		{"stock add --pool spring --prize tin --delta 9 --reason more --key k-1", exitFailure, "key"},
		{"stock add --pool mono --prize gold --delta -9 --reason less", exitFailure, "issued"},
		{"stock add --pool spring --prize lead --delta 9 --reason more", exitFailure, "lead"},
		{"stock import --pool spring --dry-run @good", exitOK, "this was a dry run"},
		{"stock import --pool spring @good", exitOK, "prizes added 1, restocked 1; units put in 12"},
		{"stock import --pool spring --key k-2 --reason delivery @good", exitOK, "restocked 2"},
		{"stock import --pool spring --key k-2 --reason delivery @good", exitOK, "this key was used already"},
		{"stock import --pool spring --key k-2 --reason delivery @other", exitFailure, "key"},
		{"stock import --pool spring @bad", exitFailure, "line 3"},
		{"stock import --pool nowhere @good", exitFailure, "nowhere"},
		{"stock import --pool spring @nofile", exitFailure, "no such file"},

		{"rules show --pool spring", exitOK, `"fallback":"none"`},
		{"rules show --pool spring --output json", exitOK, `"sha256":"`},
		{"rules show --pool spring --version 5", exitOK, "rules of version 5"},
		{"rules show --pool spring --version 6", exitFailure, "no such rules"},
		{"rules show --pool dry", exitFailure, "dry"},
		{"rules check --pool spring @rules", exitOK, "the rules fit"},
		{"rules check --pool mono @rules", exitUsage, "none"},
		{"rules set --pool spring @limits --if-version 1", exitFailure, "version"},
		{"rules set --pool spring @limits", exitOK, "the rules are of version"},
		{"rules set --pool spring @malformed", exitUsage, "fallbak"},
		{"rules set --pool mono @rules", exitUsage, "none"},

		{"user show ann --pool spring", exitOK, "draws  -      ever"},
		{"user show ann --pool spring --output json", exitOK, `"guaranteed_in":null`},
		{"user show ann --pool mono", exitOK, "draws  -      168h"},
		{"user show ann --pool dry", exitFailure, "dry"},
		{"user show ann --pool nowhere", exitFailure, "nowhere"},
		{"odds --pool spring", exitOK, "gold"},
		{"odds --pool spring --user ann --output json", exitOK, `"law":`},
		{"odds --pool spring --user bob", exitFailure, "may not draw"},
		{"odds --pool mono --user ann", exitFailure, "grants a user 1 draws per 168h"},
		{"odds --pool mono --user ann --output json", exitOK, `"retry_at":"`},
		{"odds --pool nowhere", exitFailure, "nowhere"},
		{"rules remove --pool spring", exitOK, "has no rules from version"},
		{"rules remove --pool spring", exitFailure, "has no rules"},

		{"log --pool mono", exitOK, `"kind":"award"`},
		{"log --pool spring", exitOK, `"reason":"delivery"`},
		{"log --pool spring --after 5", exitOK, `"version":6`},
		{"log --pool spring --after 5000", exitOK, ""},
		{"log --pool nowhere", exitFailure, "nowhere"},
		{"audit", exitOK, "3 pools, 0 violations"},
		{"audit --pool spring", exitOK, "1 pools, 0 violations"},
		{"audit --pool spring --output json", exitOK, `"ok":true`},
		{"audit --pool nowhere", exitFailure, "nowhere"},

		{"job disable audit", exitOK, "job audit is off"},
		{"job enable audit", exitOK, "job audit is on"},
		{"job pin audit some-host", exitOK, "job audit is pinned"},
		{"job unpin audit", exitOK, "job audit is not pinned"},
		{"job pin audit some-host", exitOK, "job audit is pinned"},
		{"job pin audit =", exitUsage, "host"},
		{"job run audit", exitOK, "job audit is requested"},
		{"job enable nothing", exitFailure, "nothing"},
		{"job run nothing", exitFailure, "nothing"},
		{"job show nothing", exitFailure, "nothing"},
		{"job history nothing", exitFailure, "nothing"},
	}
}
