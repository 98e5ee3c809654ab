// Package parquet writes tables of integers and text as Apache Parquet files.
//
// It writes what every reader takes: a flat schema, pages of version 1, and zstd.
//
//	"PAR1"
//	row group…     for each column: [dictionary page] data page…
//	footer         FileMetaData: schema, where the pages are, metadata
//	uint32         bytes of the footer
//	"PAR1"
//
//	page           PageHeader, then compressed: definition levels, values
//
// Numbers are little-endian. Headers and the footer are in the compact protocol of
// Thrift. The definition levels of an optional column say which values are null.
//
// The specification is https://github.com/apache/parquet-format. The tests read the
// files with a reader of others.
package parquet
