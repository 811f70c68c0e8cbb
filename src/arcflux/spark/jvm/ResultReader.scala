// The columns of a result as rows of a DataFrame, read by the JVM itself out of the daemon's memory.
//
// The memory is a memfd, which has no name; its place is the daemon's descriptor in /proc, which only its user can open.
// A daemon that is gone, or another process with its number, is told by what the descriptor is a link to.
package arcflux.spark

import java.nio.{ByteBuffer, ByteOrder, MappedByteBuffer}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Paths, StandardOpenOption}

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.SpecificInternalRow
import org.apache.spark.sql.types.{BooleanType, ByteType, DataType, DoubleType, FloatType, IntegerType, LongType,
  ShortType, StructType}
import org.apache.spark.util.DoubleAccumulator

/** A frame, and the seconds that its tasks have spent so far. */
class ResultFrame(val frame: AnyRef, accumulator: DoubleAccumulator) {
  def seconds(): Double = accumulator.sum
}

class ResultReader extends Serializable {
  /** A frame of so many slices; kinds: how each column is kept, offsets: at which byte it begins, one word each. */
  def read(
      session: SparkSession, place: String, mark: String, rows: Long, slices: Int, schema: String, kinds: String,
      offsets: String): ResultFrame = {
    val types = StructType.fromDDL(schema)
    val spent = session.sparkContext.doubleAccumulator
    val source = new Slices(
      place, mark, rows, slices, types, kinds.split(" "), offsets.split(" ").map(_.toLong), spent)
    val made: RDD[InternalRow] = session.sparkContext.range(0, slices, 1, slices)
      .mapPartitionsWithIndex((number, _) => source.read(number))
    // Of package sql alone in Scala, and public to the JVM; its class is another one in Spark 3 than in Spark 4.
    val method = session.getClass.getMethods.find(_.getName == "internalCreateDataFrame").get
    new ResultFrame(method.invoke(session, made, types, java.lang.Boolean.FALSE), spent)
  }
}

class Slices(
    place: String, mark: String, rows: Long, slices: Int, types: StructType, kinds: Array[String],
    offsets: Array[Long], spent: DoubleAccumulator) extends Serializable {
  def read(number: Int): Iterator[InternalRow] = {
    val begun = System.nanoTime()
    val first = rows * number / slices
    val total = (rows * (number + 1) / slices - first).toInt
    val buffers = mapped(first, total)
    val row = new SpecificInternalRow(types)
    val setters = kinds.indices.map(k => Slices.setter(kinds(k), buffers(k), row, k, types(k).dataType)).toArray
    new Iterator[InternalRow] {
      private var at = 0
      private var told = false
      override def hasNext: Boolean = {
        if (at == total && !told) {
          told = true
          spent.add((System.nanoTime() - begun) / 1e9)
        }
        at < total
      }
      override def next(): InternalRow = {
        var k = 0
        while (k < setters.length) {
          setters(k)(at)
          k += 1
        }
        at += 1
        row
      }
    }
  }

  private def mapped(first: Long, count: Int): Array[MappedByteBuffer] = {
    val path = Paths.get(place)
    val found = try Files.readSymbolicLink(path).toString catch { case _: java.io.IOException => "" }
    if (!found.contains(mark)) throw new IllegalStateException(
      "the daemon that had the result is gone, or on another host: run it again; results that are to outlive their " +
      "daemon are written, or cached and counted")
    val channel = FileChannel.open(path, StandardOpenOption.READ)
    try kinds.zip(offsets).map { case (kind, offset) =>
      val size = kind.takeRight(1).toInt
      val buffer = channel.map(FileChannel.MapMode.READ_ONLY, offset + first * size, count.toLong * size)
      buffer.order(ByteOrder.LITTLE_ENDIAN)
      buffer
    } finally channel.close()
  }
}

object Slices {
  /** What puts value i of a column into its place of a row, as the type that the frame has there. */
  def setter(kind: String, from: ByteBuffer, row: SpecificInternalRow, k: Int, to: DataType): Int => Unit = to match {
    case FloatType => i => row.setFloat(k, from.getFloat(4 * i))
    case DoubleType => i => row.setDouble(k, from.getDouble(8 * i))
    case BooleanType => i => row.setBoolean(k, from.get(i) != 0)
    case whole =>
      val get = getter(kind, from)
      whole match {
        case LongType => i => row.setLong(k, get(i))
        case IntegerType => i => row.setInt(k, get(i).toInt)
        case ShortType => i => row.setShort(k, get(i).toShort)
        case ByteType => i => row.setByte(k, get(i).toByte)
      }
  }

  private def getter(kind: String, from: ByteBuffer): Int => Long = kind match {
    case "<i8" | "<u8" => i => from.getLong(8 * i)
    case "<u4" => i => from.getInt(4 * i) & 0xffffffffL
    case "<i4" => i => from.getInt(4 * i)
    case "<u2" => i => from.getShort(2 * i) & 0xffff
    case "<i2" => i => from.getShort(2 * i)
    case "|u1" => i => from.get(i) & 0xff
    case "|i1" => i => from.get(i)
  }
}
