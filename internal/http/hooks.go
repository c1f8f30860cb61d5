package http

import (
	"context"
	nethttp "net/http"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
)

// HookReader reads hooks, without their secrets.
type HookReader interface {
	ReadHooks(ctx context.Context) (all []hook.Seen, now time.Time, err error)
	ReadHook(ctx context.Context, id string) (h hook.Seen, now time.Time, err error)
}

// HookSecrets are the secrets of hooks.
type HookSecrets interface {
	// OpenHook returns a hook with its secrets.
	OpenHook(ctx context.Context, id string) (hook.Hook, error)
	// RotateHook returns the hook with its new secret.
	RotateHook(ctx context.Context, id string) (hook.Hook, error)
	// Now returns the database's time, with which tests are signed.
	Now() time.Time
}

// HookChanger changes hooks.
type HookChanger interface {
	// CreateHook returns the hook with its new secret.
	CreateHook(ctx context.Context, w hook.Create) (hook.Hook, error)
	ChangeHook(ctx context.Context, id string, c hook.Change) (hook.Hook, error)
	RemoveHook(ctx context.Context, id string) error
}

// HookMover changes which message a hook sends next.
type HookMover interface {
	RetryHook(ctx context.Context, id string) error
	// SkipHook skips a message that waits to be sent. It returns the places before and after
	// it.
	SkipHook(ctx context.Context, id, poolID string) (before, after hook.Place, err error)
	ReplayHook(ctx context.Context, id, poolID string, after hook.Place) error
}

// HookSender sends tests, and checks which addresses may be dialled.
type HookSender interface {
	CheckURL(url string) error
	Test(ctx context.Context, h *hook.Hook, now time.Time) hook.Answer
}

// hooks answers GET /admin/hooks.
func (s *Server) hooks(ctx context.Context, _ call) (api.Hooks, error) {
	all, now, err := s.Store.ReadHooks(ctx)
	return api.Hooks{Hooks: api.ShowEach(all, func(h *hook.Seen) api.Hook { return api.ShowHook(h, now, "") })}, err
}

// hook answers GET /admin/hooks/{hook}.
func (s *Server) hook(ctx context.Context, c call) (api.Hook, error) {
	return s.seenHook(ctx, c.param("hook"), "")
}

func (s *Server) seenHook(ctx context.Context, id, secret string) (api.Hook, error) {
	h, now, err := s.Store.ReadHook(ctx, id)
	return api.ShowHook(&h, now, secret), err
}

// changedHook shows a hook after a change. Its only error is CodeOutcomeUnknown,
// because other codes would state that nothing happened.
func (s *Server) changedHook(ctx context.Context, id, secret string) (api.Hook, error) {
	answer, err := s.seenHook(ctx, id, secret)
	if err != nil {
		return api.Hook{}, &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: "the hook was changed, and could not be read afterwards"}
	}
	s.WakeJobs()
	return answer, nil
}

// createHook answers POST /admin/hooks.
func (s *Server) createHook(ctx context.Context, c call, body *api.NewHook) (api.Hook, error) {
	wanted, err := body.Read()
	if err != nil {
		return api.Hook{}, err
	}
	if err := s.HookSender.CheckURL(wanted.URL); err != nil {
		return api.Hook{}, err
	}
	made, err := s.Store.CreateHook(ctx, wanted)
	if err != nil {
		return api.Hook{}, err
	}
	s.Log.Info("hook created", "hook", made.ID, "actor", c.actor())
	answer, err := s.changedHook(ctx, made.ID, hook.ShowSecret(made.Secret))
	if err == nil {
		c.created("/admin/hooks/" + made.ID)
	}
	return answer, err
}

// changeHook answers PATCH /admin/hooks/{hook}.
func (s *Server) changeHook(ctx context.Context, c call, body *api.HookChange) (api.Hook, error) {
	change, err := body.Read()
	if err != nil {
		return api.Hook{}, err
	}
	if change.URL != nil {
		if err := s.HookSender.CheckURL(*change.URL); err != nil {
			return api.Hook{}, err
		}
	}
	changed, err := s.Store.ChangeHook(ctx, c.param("hook"), change)
	if err != nil {
		return api.Hook{}, err
	}
	s.Log.Info("hook changed", "hook", changed.ID, "actor", c.actor())
	return s.changedHook(ctx, changed.ID, "")
}

// removeHook answers DELETE /admin/hooks/{hook}.
func (s *Server) removeHook(c call) error {
	ctx, done, err := c.begin()
	if err != nil {
		return err
	}
	defer done()
	if err := s.Store.RemoveHook(ctx, c.param("hook")); err != nil {
		return err
	}
	s.Log.Info("hook removed", "hook", c.param("hook"), "actor", c.actor())
	c.noContent()
	return nil
}

// testHook answers POST /admin/hooks/{hook}/test. While it waits for the receiver, it
// does not hold a place among the calls that use the database.
func (s *Server) testHook(c call) error {
	h, err := placed(c, func(ctx context.Context) (hook.Hook, error) { return s.Store.OpenHook(ctx, c.param("hook")) })
	if err != nil {
		return err
	}
	a := s.HookSender.Test(c.gin.Request.Context(), &h, s.Store.Now())
	return c.writeJSON(api.HookTest{Status: a.Status, Error: a.Error, MS: a.Took.Milliseconds()})
}

// rotateHook answers POST /admin/hooks/{hook}/rotate.
func (s *Server) rotateHook(ctx context.Context, c call) (api.Hook, error) {
	rotated, err := s.Store.RotateHook(ctx, c.param("hook"))
	if err != nil {
		return api.Hook{}, err
	}
	s.Log.Info("the secret of a hook was rotated", "hook", rotated.ID, "actor", c.actor())
	return s.changedHook(ctx, rotated.ID, hook.ShowSecret(rotated.Secret))
}

// retryHook answers POST /admin/hooks/{hook}/retry.
func (s *Server) retryHook(ctx context.Context, c call) (api.Hook, error) {
	if err := s.Store.RetryHook(ctx, c.param("hook")); err != nil {
		return api.Hook{}, err
	}
	return s.acceptedHook(ctx, c)
}

// acceptedHook shows a hook whose events will be sent.
func (s *Server) acceptedHook(ctx context.Context, c call) (api.Hook, error) {
	answer, err := s.changedHook(ctx, c.param("hook"), "")
	if err == nil {
		c.gin.Writer.WriteHeader(nethttp.StatusAccepted)
	}
	return answer, err
}

// skipHook answers POST /admin/hooks/{hook}/skip.
func (s *Server) skipHook(ctx context.Context, c call, body *api.HookSkip) (api.Hook, error) {
	if err := draw.CheckID("pool", body.Pool); err != nil {
		return api.Hook{}, err
	}
	before, after, err := s.Store.SkipHook(ctx, c.param("hook"), body.Pool)
	if err != nil {
		return api.Hook{}, err
	}
	if before != after {
		s.Log.Warn("events of a hook were skipped", "hook", c.param("hook"), "pool", body.Pool, "after", before.Version, "through", after.Version, "actor", c.actor())
	}
	return s.acceptedHook(ctx, c)
}

// replayHook answers POST /admin/hooks/{hook}/replay.
func (s *Server) replayHook(ctx context.Context, c call, body *api.HookReplay) (api.Hook, error) {
	if err := draw.CheckID("pool", body.Pool); err != nil {
		return api.Hook{}, err
	}
	if body.After == nil {
		return api.Hook{}, draw.Errorf(draw.CodeInvalidRequest, "after is missing: the version after which events are sent again")
	}
	if *body.After < 0 || body.AfterStep < 0 {
		return api.Hook{}, draw.Errorf(draw.CodeInvalidRequest, "after and after_step must be 0 or more")
	}
	if err := s.Store.ReplayHook(ctx, c.param("hook"), body.Pool, hook.Place{Version: *body.After, Step: body.AfterStep}); err != nil {
		return api.Hook{}, err
	}
	s.Log.Info("events of a hook are sent again", "hook", c.param("hook"), "pool", body.Pool, "after", *body.After, "actor", c.actor())
	return s.acceptedHook(ctx, c)
}
