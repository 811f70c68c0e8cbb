// GraphX as the peer of benchmarks/spark.py: its own algorithms on the edges of a frame, each result read to its end.
package arcflux.benchmarks

import org.apache.spark.graphx.{Edge, Graph, VertexId}
import org.apache.spark.graphx.lib.{ConnectedComponents, LabelPropagation, PageRank, ShortestPaths}
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.storage.StorageLevel

class GraphxPeer extends Serializable {
  private var graph: Graph[Int, Int] = null

  /** Build the graph, and cache it; how many vertices it has. */
  def build(frame: DataFrame): Long = {
    val edges = frame.rdd.map((row: Row) => Edge(row.getLong(0), row.getLong(1), 1))
    graph = Graph.fromEdges(edges, 1, StorageLevel.MEMORY_ONLY, StorageLevel.MEMORY_ONLY).cache()
    graph.edges.count()
    graph.vertices.count()
  }

  def drop(): Unit = if (graph != null) { graph.unpersist(true); graph = null }

  def pagerank(iterations: Int): Double = {
    val found = PageRank.run(graph, iterations).vertices
    found.map(_._2).sum()
  }

  def components(): Long = ConnectedComponents.run(graph).vertices.map(_._2).distinct().count()

  def landmarks(ids: Array[Long]): Long =
    ShortestPaths.run(graph, ids.toSeq).vertices.map(_._2.size.toLong).fold(0L)(_ + _)

  def labels(iterations: Int): Long = LabelPropagation.run(graph, iterations).vertices.map(_._2).distinct().count()
}
