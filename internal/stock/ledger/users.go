package ledger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"
)

// renameMax is the number of awards that one statement assigns.
const renameMax = 1000

// RenameUser assigns a user's awards at the given versions to another user. It returns
// the number of awards that it has assigned, without those that another session assigned
// at the same time.
func (l *Ledger) RenameUser(ctx context.Context, tx *sql.Tx, poolID, user, to string, versions []int64) (renamed int64, err error) {
	for part := range slices.Chunk(versions, renameMax) {
		result, err := l.Builder().Update("awards").Set("user_id", to).
			Where(squirrel.Eq{"pool_id": poolID, "version": part, "user_id": user}).RunWith(tx).ExecContext(ctx)
		if err != nil {
			return 0, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		renamed += n
	}
	return renamed, nil
}

// RenameTurns assigns the turns of a user to another user.
func (l *Ledger) RenameTurns(ctx context.Context, tx *sql.Tx, poolID, user, to string) error {
	turns := l.Builder().Update("turns").Set("user_id", to).Where(squirrel.Eq{"pool_id": poolID, "user_id": user})
	_, err := turns.RunWith(tx).ExecContext(ctx)
	return err
}
