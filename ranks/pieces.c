/* pieces.c - a rank's blocks of A, B and C0 read from their files, and its block of C written, piece by piece. */
#include <stdlib.h>
#include <string.h>
#include "../program/diag.h"
#include "../program/watch.h"
#include "job.h"

enum { PIECE_BYTES = 16 << 20 };

/* A block of a matrix in a file, in pieces of whole lines, or of parts of one. */
typedef struct pieces {
    int64_t begin, line, bytes; /* of the file: its first element, elements of a line, bytes of an element */
    tw_mpi_block block;
    int64_t lines, length; /* of a piece */
    int64_t across, count; /* pieces of a line; of the block */
} pieces;

static pieces pieces_of(int64_t begin, int64_t line, int64_t bytes, const tw_mpi_block *block)
{
    pieces p = {.begin = begin, .line = line, .bytes = bytes, .block = *block};
    const int64_t most = PIECE_BYTES / bytes;
    if (block->rows == 0 || block->cols == 0) return p;
    p.length = block->cols < most ? block->cols : most, p.lines = most / p.length;
    p.across = (block->cols + p.length - 1) / p.length;
    p.count = p.across * ((block->rows + p.lines - 1) / p.lines);
    return p;
}

/* The piece of that number as a part of the block; empty behind the last. */
static tw_mpi_block piece_at(const pieces *p, int64_t number)
{
    if (number >= p->count) return (tw_mpi_block){0};
    tw_mpi_block at = {.row = number / p->across * p->lines, .col = number % p->across * p->length};
    at.rows = p->block.rows - at.row < p->lines ? p->block.rows - at.row : p->lines;
    at.cols = p->block.cols - at.col < p->length ? p->block.cols - at.col : p->length;
    return at;
}

static rank_piece place_of(const pieces *p, const tw_mpi_block *at)
{
    if (at->rows == 0) return (rank_piece){0};
    return (rank_piece){p->begin + ((p->block.row + at->row) * p->line + p->block.col + at->col) * p->bytes,
                        at->cols * p->bytes, at->rows, p->line * p->bytes};
}

/* A rank with fewer pieces takes part in the reading of the others'. */
static int64_t rounds(const rank_job *j, const pieces *p)
{
    double most = (double)p->count;
    if (j->mpi->most(&most, 1) != TW_OK) ranks_lost(j);
    return (int64_t)most;
}

/* Element (i, j) of a piece goes to place i * rows_apart + j * cols_apart. */
static void scatter(const io_matrix *piece, io_type to, char *scratch, char *out, int64_t rows_apart,
                    int64_t cols_apart)
{
    const int64_t bytes = (int64_t)io_type_bytes(to);
    io_convert(piece, to, cols_apart == 1 && rows_apart == piece->cols ? out : scratch);
    if (cols_apart == 1 && rows_apart == piece->cols) return;
    for (int64_t i = 0; i < piece->rows; i++)
        for (int64_t j = 0; j < piece->cols; j++)
            memcpy(out + (i * rows_apart + j * cols_apart) * bytes, scratch + (i * piece->cols + j) * bytes,
                   (size_t)bytes);
}

/* A block of an operand as its file has it, or of one that lies by columns by rows. */
static exit_code read_block(rank_job *j, operand_role role, const tw_mpi_block *block, io_type to, bool turns,
                            char *out)
{
    const operand *x = &j->in.each[role];
    const io_matrix *m = &x->matrix;
    const int64_t bytes = (int64_t)io_type_bytes(to);
    const pieces p = pieces_of(x->source.begin, io_by_columns(m) ? m->rows : m->cols, (int64_t)io_type_bytes(m->type),
                               block);
    const bool direct = m->type == to && !m->swapped && !turns;
    const size_t room = (size_t)(p.lines * p.length);
    char *piece = direct ? NULL : malloc(room * (size_t)p.bytes + 1),
         *scratch = turns ? malloc(room * (size_t)bytes + 1) : NULL;
    rank_file *file = NULL;
    exit_code code = (direct || piece != NULL) && (!turns || scratch != NULL) ? EXIT_OK : diag_no_memory(x->path);
    code = ranks_together(j, code);
    tw_status status = code == EXIT_OK ? j->mpi->open(x->source.path, false, &file) : TW_OK;
    if (status != TW_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
    if (code == EXIT_OK) code = ranks_together(j, code);
    for (int64_t i = 0, end = code == EXIT_OK ? rounds(j, &p) : 0; i < end; i++) {
        const tw_mpi_block at = piece_at(&p, i);
        const rank_piece place = place_of(&p, &at);
        char *const whole = out + (at.row * block->cols + at.col) * bytes; /* whole lines, or a part of one */
        status = j->mpi->read(file, &place, direct ? whole : piece);
        watch_alive();
        if (status != TW_OK && code == EXIT_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
        if (code != EXIT_OK || direct || at.rows == 0) continue;
        const io_matrix view = {m->type, m->swapped, at.rows, at.cols, at.cols, 1, piece, NULL, 0};
        if (turns)
            scatter(&view, to, scratch, out + (at.row + at.col * block->rows) * bytes, 1, block->rows);
        else
            scatter(&view, to, NULL, whole, at.cols, 1);
    }
    if (file != NULL && j->mpi->close(file) != TW_OK && code == EXIT_OK) code = diag(EXIT_INPUT, "%s", j->mpi->error());
    free(piece), free(scratch);
    return code;
}

exit_code ranks_read(rank_job *j)
{
    const tw_mpi_layout *l = &j->layout;
    const operand *add = &j->in.each[OPERAND_ADD];
    const bool multiplies = (j->in.problem.alpha != 0 || j->in.problem.alpha_imaginary != 0);
    exit_code code = EXIT_OK;
    watch_stage("A is read");
    if (multiplies) code = ranks_together(j, read_block(j, OPERAND_A, &l->a, j->in.as.type_a, false, j->a));
    watch_stage("B is read");
    if (multiplies && code == EXIT_OK)
        code = ranks_together(j, read_block(j, OPERAND_B, &l->b, j->in.as.type_b, false, j->b));
    watch_stage("C0 is read");
    if (code != EXIT_OK || add->path == NULL) return code;
    const bool turns = io_by_columns(&add->matrix);
    const tw_mpi_block own = turns ? (tw_mpi_block){l->c.col, l->c.row, l->c.cols, l->c.rows} : l->c;
    return ranks_together(j, read_block(j, OPERAND_ADD, &own, j->in.as.type_c, turns, j->c));
}

exit_code ranks_write(rank_job *j)
{
    const int64_t bytes = (int64_t)io_type_bytes(j->in.as.type_c);
    const pieces p = pieces_of(j->out.begin, j->in.problem.n, bytes, &j->layout.c);
    rank_file *file = NULL;
    watch_stage("C is written");
    exit_code code = j->mpi->open(j->out.temp_path, true, &file) == TW_OK ? EXIT_OK
                                                                          : diag(EXIT_OUTPUT, "%s", j->mpi->error());
    code = ranks_together(j, code);
    for (int64_t i = 0, end = code == EXIT_OK ? rounds(j, &p) : 0; i < end; i++) {
        const tw_mpi_block at = piece_at(&p, i);
        const rank_piece place = place_of(&p, &at);
        const tw_status status = j->mpi->write(file, &place, j->c + (at.row * j->layout.c.cols + at.col) * bytes);
        watch_alive();
        if (status != TW_OK && code == EXIT_OK) code = diag(EXIT_OUTPUT, "%s", j->mpi->error());
    }
    if (file != NULL && j->mpi->close(file) != TW_OK && code == EXIT_OK)
        code = diag(EXIT_OUTPUT, "%s", j->mpi->error());
    return ranks_together(j, code);
}
