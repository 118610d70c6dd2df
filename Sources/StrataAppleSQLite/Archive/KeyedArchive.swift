import Foundation

/// The objects of a keyed archive: records under keys, which refer to each other. No class is made of them.
struct KeyedArchive {
  struct Fault: Error, CustomStringConvertible { let description: String }

  private let objects: [PropertyListValue]
  private let root: Int

  /// - Throws: `KeyedArchive.Fault`, `BinaryPropertyList.Fault`.
  init(_ bytes: [UInt8]) throws {
    guard let dictionary = try BinaryPropertyList.value(bytes).dictionary,
      dictionary["$archiver"]?.string == "NSKeyedArchiver", let objects = dictionary["$objects"]?.array,
      let top = dictionary["$top"]?.dictionary
    else { throw Fault(description: "it is no keyed archive") }
    guard case .reference(let root)? = top["root"] ?? (top.count == 1 ? top.values.first : nil) else {
      throw Fault(description: "the archive has no root")
    }
    self.objects = objects
    self.root = root
  }

  /// An object of the archive, known by its place.
  struct Item: Hashable {
    let place: Int
  }

  var rootItem: Item { Item(place: root) }

  private func raw(_ item: Item) -> PropertyListValue? {
    item.place >= 0 && item.place < objects.count ? objects[item.place] : nil
  }

  /// The name of an object's class; nil for plain values.
  func className(_ item: Item) -> String? {
    guard case .reference(let place)? = raw(item)?.dictionary?["$class"] else { return nil }
    return raw(Item(place: place))?.dictionary?["$classname"]?.string
  }

  /// What an object has under a key, references followed; nil for nothing.
  func value(_ item: Item, _ key: String) -> PropertyListValue? {
    guard let value = raw(item)?.dictionary?[key] else { return nil }
    guard case .reference(let place) = value else { return value }
    guard let target = raw(Item(place: place)), target != .string("$null") else { return nil }
    return target
  }

  /// The object under a key; nil for nothing and for values that lie in place.
  func item(_ item: Item, _ key: String) -> Item? {
    guard case .reference(let place)? = raw(item)?.dictionary?[key] else { return nil }
    return known(place)
  }

  private func known(_ place: Int) -> Item? {
    let item = Item(place: place)
    guard let target = raw(item), target != .string("$null") else { return nil }
    return item
  }

  /// A plain value.
  func plain(_ item: Item) -> PropertyListValue? { raw(item) }

  func keys(_ item: Item) -> [String] { raw(item)?.dictionary.map { Array($0.keys) } ?? [] }

  /// A text, which may be an object.
  func string(_ owner: Item, _ key: String) -> String? {
    if let text = value(owner, key)?.string { return text }
    return item(owner, key).flatMap { value($0, "NS.string")?.string }
  }

  /// The members of an array or a set.
  func members(_ item: Item) -> [Item] {
    let list = value(item, "NS.objects")?.array ?? raw(item)?.array ?? []
    return list.compactMap { if case .reference(let place) = $0 { known(place) } else { nil } }
  }

  /// The pairs of a dictionary whose keys are texts, in the order of the archive. The keys of one with known keys are in a record of their own.
  func pairs(_ item: Item) -> [(key: String, value: Item)] {
    let keyItems: [Item?]
    let values: [Item?]
    if let mapping = self.item(item, "NSKnownKeysMappingStrategy1") {
      keyItems = places(mapping, ["keys", "NS.keys", "NSKnownKeys"])
      values = places(item, ["values", "NS.objects", "NS.values"])
    } else {
      keyItems = places(item, ["NS.keys"])
      values = places(item, ["NS.objects"])
    }
    return zip(keyItems, values).compactMap { key, value in
      guard let key, let value, let text = raw(key)?.string, !text.hasPrefix("__empty_slot_token") else {
        return nil
      }
      if let word = raw(value)?.string, word.hasPrefix("__empty_slot_token") { return nil }
      return (text, value)
    }
  }

  /// The list under the first of some keys, whether it lies in place or is an array of its own; nil where there is nothing at a place.
  private func places(_ owner: Item, _ keys: [String]) -> [Item?] {
    for key in keys {
      if let list = raw(owner)?.dictionary?[key]?.array {
        return list.map { if case .reference(let place) = $0 { known(place) } else { nil } }
      }
      guard let list = item(owner, key) else { continue }
      let inner = value(list, "NS.objects")?.array ?? raw(list)?.array ?? []
      return inner.map { if case .reference(let place) = $0 { known(place) } else { nil } }
    }
    return []
  }
}
