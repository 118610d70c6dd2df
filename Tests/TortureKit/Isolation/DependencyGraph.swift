/// Which transaction must come before which, and cycles in that.
///
/// Real time is a chain of moments beside the transactions, each with an edge to the next: so that it takes no more edges than there are transactions.
struct DependencyGraph {
  struct Kinds: OptionSet, Hashable {
    let rawValue: UInt8
    /// The target has replaced what the source wrote.
    static let writeWrite = Kinds(rawValue: 1)
    /// The target has read what the source wrote.
    static let writeRead = Kinds(rawValue: 2)
    /// The target has replaced what the source read.
    static let readWrite = Kinds(rawValue: 4)
    /// The source had ended when the target began.
    static let realTime = Kinds(rawValue: 8)
  }

  struct Edge {
    let source: Int
    let target: Int
    let kind: Kinds
    let words: String
  }

  private(set) var edges: [Edge] = []
  private var outgoing: [[Int]]

  init(vertices: Int) { outgoing = Array(repeating: [], count: vertices) }

  mutating func add(_ source: Int, _ target: Int, _ kind: Kinds, _ words: String = "") {
    if source == target { return }
    outgoing[source].append(edges.count)
    edges.append(Edge(source: source, target: target, kind: kind, words: words))
  }

  /// The number of each vertex's strongly connected component, by edges of these kinds (Tarjan 1972, with a stack of its own).
  func components(_ kinds: Kinds) -> [Int] {
    let count = outgoing.count
    var component = [Int](repeating: -1, count: count)
    var index = [Int](repeating: -1, count: count)
    var low = [Int](repeating: 0, count: count)
    var (open, path, found, next) = ([Int](), [(vertex: Int, place: Int)](), 0, 0)
    for root in 0..<count where index[root] < 0 {
      path.append((root, 0))
      while let (vertex, place) = path.last {
        if place == 0 {
          index[vertex] = next
          low[vertex] = next
          next += 1
          open.append(vertex)
        }
        if place < outgoing[vertex].count {
          path[path.count - 1].place += 1
          let edge = edges[outgoing[vertex][place]]
          guard kinds.contains(edge.kind) else {
            // The first visit is over also when its edge does not count.
            continue
          }
          if index[edge.target] < 0 {
            path.append((edge.target, 0))
          } else if component[edge.target] < 0 {
            low[vertex] = min(low[vertex], index[edge.target])
          }
          continue
        }
        if low[vertex] == index[vertex] {
          while let top = open.popLast() {
            component[top] = found
            if top == vertex { break }
          }
          found += 1
        }
        path.removeLast()
        if let parent = path.last { low[parent.vertex] = min(low[parent.vertex], low[vertex]) }
      }
    }
    return component
  }

  /// The shortest way between two vertices of one component.
  /// - Parameter isNonadjacent: Whether no two edges of kind ``Kinds/readWrite`` may follow each other, and none may begin or end the way.
  func way(
    _ source: Int, _ target: Int, _ kinds: Kinds, _ component: [Int], isNonadjacent: Bool = false
  ) -> [Edge]? {
    // With `isNonadjacent` a vertex that is reached by such an edge is another one.
    var reached: [Int: (edge: Int, from: Int)] = [:]
    let start = source * 2 + (isNonadjacent ? 1 : 0)
    var (queue, place) = ([start], 0)
    while place < queue.count {
      let state = queue[place]
      place += 1
      for number in outgoing[state / 2] {
        let edge = edges[number]
        guard kinds.contains(edge.kind), component[edge.target] == component[source] else { continue }
        let isReadWrite = isNonadjacent && edge.kind == .readWrite
        if isReadWrite && state % 2 == 1 { continue }
        let next = edge.target * 2 + (isReadWrite ? 1 : 0)
        if next == start || reached[next] != nil { continue }
        reached[next] = (number, state)
        guard edge.target == target, !isReadWrite else {
          queue.append(next)
          continue
        }
        var (way, last) = ([Edge](), next)
        while let step = reached[last] {
          way.append(edges[step.edge])
          last = step.from
        }
        return way.reversed()
      }
    }
    return nil
  }
}
