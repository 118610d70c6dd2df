/// Writes one symbol by the rules of Swift's stable ABI.
///
/// What has been written before is not written again: of identifiers their words (`0B0` for the second word seen), whole identifiers
/// and types as `A` with a letter, neighbouring ones of those in one sign (`AbC`, `A2B`).
struct Mangler {
  private var output = Array("$s".utf8)
  /// Words of identifiers: where they stand in `output`.
  private var words: [(start: Int, length: Int)] = []
  /// What `A` with a letter stands for, by key.
  private var substitutions: [String: Int] = [:]
  private var merging = SubstitutionMerging()

  // MARK: Symbols

  /// The accessors of a property.
  enum Accessor: String {
    case getter = "g"
    case setter = "s"
  }

  /// The symbol of an accessor of the property `name` of `type`, declared in `owner` (in an extension of another module than the
  /// class's if `extensionModule` says so). `discriminator` is the file's, for private properties.
  static func accessor(
    _ accessor: Accessor, of name: String, _ type: ResolvedType, in owner: Nominal,
    extensionModule: String? = nil,
    discriminator: String? = nil
  ) -> String {
    var mangler = Mangler()
    mangler.context(owner, extensionModule)
    mangler.declarationName(name, discriminator)
    mangler.type(type)
    return mangler.finish("v" + accessor.rawValue)
  }

  /// The symbol of the method `name`.
  static func method(
    _ name: String, labels: [String?], parameters: [ResolvedType], result: ResolvedType, in owner: Nominal,
    extensionModule: String? = nil, discriminator: String? = nil
  ) -> String {
    var mangler = Mangler()
    mangler.context(owner, extensionModule)
    mangler.declarationName(name, discriminator)
    if labels.allSatisfy({ $0 == nil }) {
      mangler.write("y")
    } else {
      for label in labels {
        if let label { mangler.identifier(label) } else { mangler.write("_") }
      }
    }
    mangler.type(result)
    if parameters.count == 1, labels[0] == nil {
      mangler.type(parameters[0])
    } else {
      mangler.tuple(parameters)
    }
    return mangler.finish("F")
  }

  private func finish(_ end: String) -> String { String(decoding: output, as: UTF8.self) + end }

  private mutating func write(_ text: String) { output += text.utf8 }

  // MARK: Declarations

  private mutating func context(_ owner: Nominal, _ extensionModule: String?) {
    nominal(owner)
    if let extensionModule {
      identifier(extensionModule)
      write("E")
    }
  }

  private mutating func declarationName(_ name: String, _ discriminator: String?) {
    identifier(name)
    if let discriminator {
      identifier(discriminator)
      write("LL")
    }
  }

  private mutating func nominal(_ type: Nominal) {
    if standard(type) { return }
    let key = "type " + type.key
    if substitute(key) { return }
    nominalContext(type)
    write(String(type.kind.letter))
    remember(key)
  }

  private mutating func nominalContext(_ type: Nominal) {
    if let outer = type.outer {
      context(outer, type.extensionModule)
    } else if type.module == "Swift" {
      write("s")
    } else {
      identifier(type.module)
    }
    declarationName(type.name, type.discriminator)
  }

  /// A protocol in a list of them: without a sign for its kind.
  private mutating func protocolName(_ type: Nominal) {
    let key = "protocol " + type.key
    if substitute(key) { return }
    nominalContext(type)
    remember(key)
  }

  private mutating func standard(_ type: Nominal) -> Bool {
    guard type.module == "Swift", type.outer == nil, let letter = KnownTypes.standard[type.name] else {
      return false
    }
    if !merging.merge(into: &output, letter, isStandard: true) { write("S" + letter) }
    return true
  }

  // MARK: Types

  private mutating func type(_ type: ResolvedType) {
    switch type {
    case .nominal(let type): nominal(type)
    case .bound(let base, let arguments):
      let key = "bound " + type.key
      if substitute(key) { return }
      nominal(base)
      write("y")
      for argument in arguments { self.type(argument) }
      write("G")
      remember(key)
    case .optional(let wrapped):
      let key = "bound " + type.key
      if substitute(key) { return }
      self.type(wrapped)
      write("Sg")
      remember(key)
    case .tuple(let types):
      if types.isEmpty { write("y") } else { tuple(types) }
    case .existential(let protocols, let isClass):
      if protocols.isEmpty {
        write(isClass ? "yXl" : "yp")
        return
      }
      for (index, type) in protocols.enumerated() {
        protocolName(type)
        if index == 0 { write("_") }
      }
      write(isClass ? "Xl" : "p")
    }
  }

  private mutating func tuple(_ types: [ResolvedType]) {
    if types.isEmpty {
      write("y")
      return
    }
    for (index, element) in types.enumerated() {
      type(element)
      if index == 0 { write("_") }
    }
    write("t")
  }

  // MARK: Substitutions

  private mutating func remember(_ key: String) { substitutions[key] = substitutions.count }

  private mutating func substitute(_ key: String) -> Bool {
    guard let index = substitutions[key] else { return false }
    if index >= 26 {
      write("A" + (index == 26 ? "_" : "\(index - 27)_"))
    } else {
      let letter = String(UnicodeScalar(UInt8(ascii: "A") + UInt8(index)))
      if !merging.merge(into: &output, letter, isStandard: false) { write("A" + letter) }
    }
    return true
  }

  // MARK: Identifiers

  private mutating func identifier(_ name: String) {
    let key = "name " + name
    if substitute(key) { return }
    remember(key)
    let bytes = Array(name.utf8)
    if bytes.contains(where: { $0 >= 0x80 }) {
      let encoded = Punycode.encode(name)
      write("00\(encoded.utf8.count)")
      if let first = encoded.utf8.first, first == UInt8(ascii: "_") || Self.isDigit(first) { write("_") }
      write(encoded)
      return
    }
    writeWords(bytes)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }
  private static func isUpper(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
  }

  private mutating func writeWords(_ name: [UInt8]) {
    /// A word of `name` that has been seen.
    struct Seen {
      let start: Int
      let word: Int
    }
    let known = words.count
    var seen: [Seen] = []
    var start: Int?
    for position in 0...name.count {
      let byte = position < name.count ? name[position] : 0
      if let first = start,
        byte == UInt8(ascii: "_") || byte == 0 || !Self.isUpper(name[position - 1]) && Self.isUpper(byte)
      {
        let word = name[first..<position]
        let index =
          words[..<known].firstIndex { word.elementsEqual(output[$0.start..<$0.start + $0.length]) }
          ?? words[known...].firstIndex { word.elementsEqual(name[$0.start..<$0.start + $0.length]) }
        if let index {
          seen.append(Seen(start: first, word: index))
        } else if word.count >= 2, words.count < 26 {
          words.append((first, word.count))
        }
        start = nil
      }
      if start == nil, byte != 0, byte != UInt8(ascii: "_"), !Self.isDigit(byte) { start = position }
    }
    if !seen.isEmpty { write("0") }
    var next = known
    var position = 0
    for (number, part) in (seen.map(Optional.some) + [nil]).enumerated() {
      let end = part?.start ?? name.count
      if position < end {
        write("\(end - position)")
        while position < end {
          // From here on the word is known by where it stands in the symbol.
          if next < words.count, words[next].start == position {
            words[next].start = output.count
            next += 1
          }
          output.append(name[position])
          position += 1
        }
      }
      guard let part else { break }
      position += words[part.word].length
      if number < seen.count - 1 {
        output.append(UInt8(ascii: "a") + UInt8(part.word))
      } else {
        output.append(UInt8(ascii: "A") + UInt8(part.word))
        if position == name.count { write("0") }
      }
    }
  }
}

/// Neighbouring substitutions become one.
private struct SubstitutionMerging {
  private var position = 0
  private var size = 0
  private var count = 0
  private var isStandard = false

  /// Adds `letter` to the substitution that `output` ends with; false when it cannot be, and is then written by the caller.
  mutating func merge(into output: inout [UInt8], _ letter: String, isStandard: Bool) -> Bool {
    // A letter of the alphabet, one byte.
    let sign = letter.utf8[letter.utf8.startIndex]
    if count > 0, count < 2048, output.count == position + size, self.isStandard == isStandard,
      let last = output.last
    {
      if last != sign, !isStandard {
        position = output.count
        count = 1
        size = 1
        output[output.count - 1] = last + (UInt8(ascii: "a") - UInt8(ascii: "A"))
        output.append(sign)
        return true
      }
      if last == sign {
        count += 1
        output.removeLast(output.count - position)
        output += "\(count)\(letter)".utf8
        size = output.count - position
        return true
      }
    }
    position = output.count + 1
    size = 1
    count = 1
    self.isStandard = isStandard
    return false
  }
}
