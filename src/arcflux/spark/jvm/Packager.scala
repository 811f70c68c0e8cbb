// The columns of a DataFrame as files of primitive values, written by the JVM itself: no row goes through Python.
//
// A partition becomes one file: each column's values, little-endian, one column after the other; text is the offsets
// (int64, one more than there are values) and then UTF-8. How many rows come is not known before, so a column is kept in
// memory up to 64 MiB, then in a file that has no name any more, and appended to the others in the end.
package arcflux.spark

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, Paths, StandardOpenOption}
import java.nio.file.attribute.PosixFilePermissions

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Dataset
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{ColumnarToRowExec, InputAdapter, SparkPlan, WholeStageCodegenExec}
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

class Packager extends Serializable {
  /** Write every partition; of each: its number, file, rows, nulls of each column, and where each column begins. */
  def pack(frame: Dataset[_], folder: String, prefix: String, words: String): String = {
    val kinds = words.split(" ")
    val plan = frame.queryExecution.executedPlan
    val parts = Packager.columnar(plan) match {
      case Some(columns) =>
        columns.executeColumnar().mapPartitionsWithIndex((index, batches) =>
          Iterator(Packager.write(index, folder, prefix, kinds, writer => batches.foreach(writer.batch)))).collect()
      case None =>
        frame.queryExecution.toRdd.mapPartitionsWithIndex((index, rows) =>
          Iterator(Packager.write(index, folder, prefix, kinds, writer => rows.foreach(writer.row)))).collect()
    }
    parts.mkString("\n")
  }
}

object Packager {
  /** The plan whose batches of columns are only turned into rows at the end, such as that of a cached frame. */
  def columnar(plan: SparkPlan): Option[SparkPlan] = plan match {
    case found if found.supportsColumnar => Some(found)
    case WholeStageCodegenExec(child) => columnar(child)
    case ColumnarToRowExec(child) => columnar(child)
    case InputAdapter(child) => columnar(child)
    case _ => None
  }

  def write(index: Int, folder: String, prefix: String, kinds: Array[String], fill: Writer => Unit): String = {
    val attempt = TaskContext.get().taskAttemptId()
    val name = s"$prefix-$index-$attempt.columns"
    val writer = new Writer(Paths.get(folder), name, kinds)
    try {
      fill(writer)
      s"$index $name ${writer.finish()}"
    } finally writer.close()
  }
}

/** The columns of one partition. */
class Writer(folder: Path, name: String, kinds: Array[String]) {
  private val columns = kinds.map(kind => new Column(kind))
  private var rows = 0L

  def row(row: InternalRow): Unit = {
    var k = 0
    while (k < columns.length) {
      columns(k).put(row, k)
      k += 1
    }
    rows += 1
  }

  def batch(batch: ColumnarBatch): Unit = {
    var k = 0
    while (k < columns.length) {
      columns(k).put(batch.column(k), batch.numRows())
      k += 1
    }
    rows += batch.numRows()
  }

  /** Append the columns to each other in the file; what there is, as words. */
  def finish(): String = {
    val path = folder.resolve(name)
    val whole = open(path)
    try {
      val places = columns.flatMap(_.runs).map { run =>
        val begins = (whole.position() + 63) / 64 * 64
        whole.position(begins)
        run.copyTo(whole)
        begins
      }
      val ends = whole.position() // a run without bytes begins where the next would, maybe beyond the last byte
      if (whole.size() < ends) whole.write(ByteBuffer.allocate(1), ends - 1)
      s"$rows ${columns.map(_.nulls).mkString(",")} ${places.mkString(",")}"
    } finally whole.close()
  }

  def close(): Unit = columns.foreach(_.close())

  private def open(path: Path): FileChannel = FileChannel.open(
    path,
    java.util.EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE),
    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))

  /** Bytes of unknown number: in memory as long as they are few. */
  private class Run {
    private var buffer = ByteBuffer.allocateDirect(1 << 20).order(ByteOrder.LITTLE_ENDIAN)
    private var spilt: FileChannel = null

    def room(bytes: Int): ByteBuffer = {
      if (buffer.remaining() < bytes) {
        if (buffer.capacity() < Run.most) grow(bytes) else spill()
      }
      if (buffer.remaining() < bytes) grow(bytes)
      buffer
    }

    private def grow(bytes: Int): Unit = {
      val size = Math.max(2L * buffer.capacity(), buffer.position().toLong + bytes)
      val larger = ByteBuffer.allocateDirect(Math.toIntExact(size)).order(ByteOrder.LITTLE_ENDIAN)
      buffer.flip()
      larger.put(buffer)
      buffer = larger
    }

    private def spill(): Unit = {
      if (spilt == null) {
        val path = Files.createTempFile(folder, "spilt", ".part")
        spilt = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE,
          StandardOpenOption.DELETE_ON_CLOSE)
        Files.delete(path)
      }
      buffer.flip()
      while (buffer.hasRemaining) spilt.write(buffer)
      buffer.clear()
    }

    def copyTo(whole: FileChannel): Unit = {
      if (spilt != null) {
        var at = 0L
        val size = spilt.size()
        while (at < size) at += spilt.transferTo(at, size - at, whole)
      }
      buffer.flip()
      while (buffer.hasRemaining) whole.write(buffer)
    }

    def close(): Unit = if (spilt != null) spilt.close()
  }

  private object Run { val most: Int = 64 << 20 }

  /** One column: a run of values, or of offsets and one of text. */
  private class Column(kind: String) {
    private val values = new Run
    private val text = if (kind == "text") new Run else null
    private var length = 0L
    var nulls = 0L
    if (kind == "text") values.room(8).putLong(0L)

    def runs: Seq[Run] = if (text == null) Seq(values) else Seq(values, text)

    def put(row: InternalRow, k: Int): Unit =
      if (row.isNullAt(k)) nulls += 1
      else kind match {
        case "<i8" => values.room(8).putLong(row.getLong(k))
        case "<i4" => values.room(4).putInt(row.getInt(k))
        case "<i2" => values.room(2).putShort(row.getShort(k))
        case "|i1" => values.room(1).put(row.getByte(k))
        case "|b1" => values.room(1).put(if (row.getBoolean(k)) 1: Byte else 0: Byte)
        case "<f4" => values.room(4).putFloat(row.getFloat(k))
        case "<f8" => values.room(8).putDouble(row.getDouble(k))
        case "text" => word(row.getUTF8String(k).getBytes)
      }

    def put(column: ColumnVector, count: Int): Unit =
      if (column.hasNull) {
        var i = 0
        while (i < count) {
          if (column.isNullAt(i)) nulls += 1
          i += 1
        }
      } else kind match {
        case "<i8" =>
          values.room(8 * count).asLongBuffer().put(column.getLongs(0, count)); skip(8 * count)
        case "<i4" =>
          values.room(4 * count).asIntBuffer().put(column.getInts(0, count)); skip(4 * count)
        case "<i2" =>
          values.room(2 * count).asShortBuffer().put(column.getShorts(0, count)); skip(2 * count)
        case "|i1" => values.room(count).put(column.getBytes(0, count))
        case "|b1" =>
          val room = values.room(count)
          column.getBooleans(0, count).foreach(found => room.put(if (found) 1: Byte else 0: Byte))
        case "<f4" =>
          values.room(4 * count).asFloatBuffer().put(column.getFloats(0, count)); skip(4 * count)
        case "<f8" =>
          values.room(8 * count).asDoubleBuffer().put(column.getDoubles(0, count)); skip(8 * count)
        case "text" =>
          var i = 0
          while (i < count) {
            word(column.getUTF8String(i).getBytes)
            i += 1
          }
      }

    private def skip(bytes: Int): Unit = {
      val room = values.room(0)
      room.position(room.position() + bytes)
    }

    private def word(bytes: Array[Byte]): Unit = {
      text.room(bytes.length).put(bytes)
      length += bytes.length
      values.room(8).putLong(length)
    }

    def close(): Unit = runs.foreach(_.close())
  }
}
