import Foundation

/// User info, or the value of a transformable attribute, as codable values: attribute values, and collections of those.
///
/// User info has texts as keys and no sets, so that programs of every version read a model. Values may have other keys, sets and null as well; an
/// earlier program says of a set that it cannot be decoded.
struct UserInfoDocument: Codable, Equatable {
  indirect enum Node: Codable, Equatable {
    case value(ValueDocument)
    case array([Node])
    case dictionary([String: Node])
    /// In one order, whatever the set's: equal sets have equal bytes.
    case set([Node])
    /// A dictionary with other keys than texts, in one order as well.
    case entries([Entry])
  }

  struct Entry: Codable, Equatable {
    var key: Node
    var value: Node
  }

  var entries: [String: Node]

  /// Nil when something in it has no codable form.
  init?(_ userInfo: [AnyHashable: Any]) {
    guard case .dictionary(let entries)? = NodeMaker(takesAllValues: false).node(userInfo, depth: 0) else {
      return nil
    }
    self.entries = entries
  }

  /// The value of a transformable attribute under a key; nil when it has no codable form.
  init?(value: Any, key: String) {
    guard let node = NodeMaker(takesAllValues: true).node(value, depth: 1) else { return nil }
    entries = [key: node]
  }

  var userInfo: [AnyHashable: Any] { entries.mapValues { Self.any($0) } }

  private static func any(_ node: Node) -> Any {
    switch node {
    case .value(let document):
      // Integers come back as Int, as a literal makes them.
      if case .integer(let value) = document.value { return Int(exactly: value) ?? value }
      return document.value.anyValue ?? NSNull()
    case .array(let nodes): return nodes.map { any($0) }
    case .dictionary(let nodes): return nodes.mapValues { any($0) }
    case .set(let nodes): return Set(nodes.map(hashable))
    case .entries(let entries): return dictionary(entries)
    }
  }

  private static func dictionary(_ entries: [Entry]) -> [AnyHashable: Any] {
    Dictionary(entries.map { (hashable($0.key), any($0.value)) }, uniquingKeysWith: { $1 })
  }

  /// A member of a set, or a key: lists and dictionaries of anything are hashable as Foundation's only.
  private static func hashable(_ node: Node) -> AnyHashable {
    switch node {
    // Unwrapped: values of attributes and NSNull are all hashable.
    case .value: any(node) as! AnyHashable
    case .array(let nodes): AnyHashable(NSArray(array: nodes.map { any($0) }))
    case .dictionary(let nodes): AnyHashable(NSDictionary(dictionary: nodes.mapValues { any($0) }))
    case .set(let nodes): AnyHashable(Set(nodes.map(hashable)))
    case .entries(let entries): AnyHashable(NSDictionary(dictionary: dictionary(entries)))
    }
  }
}

/// Makes the codable form of values.
private struct NodeMaker {
  typealias Node = UserInfoDocument.Node

  /// Whether sets, null and keys that are no texts have a form.
  let takesAllValues: Bool

  func node(_ any: Any, depth: Int) -> Node? {
    guard depth <= 16 else { return nil }
    if let value = AttributeValue(any, type: .undefined) { return .value(ValueDocument(value)) }
    if takesAllValues, any is NSNull { return .value(ValueDocument(.null)) }
    if let array = any as? [Any] { return nodes(array, depth).map { .array($0) } }
    // What it counts would be lost.
    if any is NSCountedSet { return nil }
    let any = FoundationCollections.castable(any)
    if takesAllValues, let set = any as? Set<AnyHashable> {
      return nodes(set.map(\.base), depth).map { .set(Self.inOrder($0)) }
    }
    guard let dictionary = any as? [AnyHashable: Any] else { return nil }
    return self.dictionary(dictionary, depth)
  }

  private func nodes(_ values: [Any], _ depth: Int) -> [Node]? {
    let nodes = values.compactMap { node($0, depth: depth + 1) }
    return nodes.count == values.count ? nodes : nil
  }

  private func dictionary(_ dictionary: [AnyHashable: Any], _ depth: Int) -> Node? {
    var named: [String: Node] = [:]
    for (key, value) in dictionary {
      guard let key = key.base as? String else {
        return takesAllValues ? entries(dictionary, depth) : nil
      }
      guard let node = node(value, depth: depth + 1) else { return nil }
      named[key] = node
    }
    return .dictionary(named)
  }

  private func entries(_ dictionary: [AnyHashable: Any], _ depth: Int) -> Node? {
    var entries: [UserInfoDocument.Entry] = []
    for (key, value) in dictionary {
      guard let key = node(key.base, depth: depth + 1), let value = node(value, depth: depth + 1) else {
        return nil
      }
      entries.append(UserInfoDocument.Entry(key: key, value: value))
    }
    return .entries(entries.map { ($0.key.text, $0) }.sorted { $0.0 < $1.0 }.map { $0.1 })
  }

  /// Each once: two classes may have stood for one value.
  private static func inOrder(_ nodes: [Node]) -> [Node] {
    let sorted = nodes.map { (text: $0.text, node: $0) }.sorted { $0.text < $1.text }
    return sorted.indices.compactMap {
      $0 > 0 && sorted[$0].node == sorted[$0 - 1].node ? nil : sorted[$0].node
    }
  }
}

extension UserInfoDocument.Node {
  /// A text that no other node has, for an order of nodes.
  fileprivate var text: String {
    func sized(_ text: String) -> String { "\(text.utf8.count):\(text)" }
    func list(_ nodes: [Self]) -> String { "\(nodes.count):" + nodes.map(\.text).joined() }
    switch self {
    case .value(let document):
      let (tag, text) = document.tagged
      return "v" + sized(tag) + sized(text)
    case .array(let nodes): return "a" + list(nodes)
    case .set(let nodes): return "s" + list(nodes)
    case .dictionary(let nodes):
      let entries = nodes.sorted { $0.key < $1.key }
      return "d\(entries.count):" + entries.map { sized($0.key) + $0.value.text }.joined()
    case .entries(let entries): return "e" + list(entries.flatMap { [$0.key, $0.value] })
    }
  }
}
