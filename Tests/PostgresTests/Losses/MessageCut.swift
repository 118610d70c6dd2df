import Foundation

/// Where a connection is cut: at a message of PostgreSQL's protocol, before it, inside of it or behind it.
struct MessageCut: Hashable, Sendable {
  enum Place: Int, CaseIterable, Sendable { case before, inside, behind }

  /// A type of messages in one direction.
  struct Kind: Hashable, Sendable, CustomStringConvertible {
    let direction: CuttingProxy.Direction
    /// The letter of the type; `-` for the first message of a client, which has none.
    let type: Character

    var description: String { "\(type) \(direction)" }
  }

  let kind: Kind
  let place: Place
  /// So many messages of the kind pass whole before, of whichever connection.
  var left = 0
}

/// Finds where messages begin and end in the bytes of one direction of a connection: a letter, but for the first message of a client, and a length.
struct MessageFollower {
  struct Message {
    let kind: MessageCut.Kind
    /// Places of the first byte and the one behind the last, in all bytes of the direction.
    let start: Int
    let end: Int
  }

  private let direction: CuttingProxy.Direction
  private var hasLetter: Bool
  private var header: [UInt8] = []
  private var start = 0
  private var place = 0
  /// Where the next message begins, when that is known.
  private var end: Int?

  init(_ direction: CuttingProxy.Direction) {
    self.direction = direction
    hasLetter = direction == .toClient
  }

  /// The messages whose length has become known with these bytes.
  mutating func follow(_ bytes: some Sequence<UInt8>) -> [Message] {
    var messages: [Message] = []
    for byte in bytes {
      if place == end {
        (start, end, header) = (place, nil, [])
        hasLetter = true
      }
      place += 1
      if end != nil { continue }
      header.append(byte)
      let letters = hasLetter ? 1 : 0
      guard header.count == letters + 4 else { continue }
      let length = header[letters...].reduce(0) { $0 << 8 | Int($1) }
      end = start + letters + max(length, 4)
      let type = hasLetter ? Character(UnicodeScalar(header[0])) : "-"
      messages.append(
        Message(
          kind: MessageCut.Kind(direction: direction, type: type), start: start, end: end ?? place))
    }
    return messages
  }
}
